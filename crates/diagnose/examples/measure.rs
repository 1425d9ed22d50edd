fn main() {
    for path in std::env::args().skip(1) {
        let file = std::fs::File::open(&path).unwrap();
        let (_, path_) = retx_diagnose::measure::measure(file, &path, 1).unwrap();
        println!("{}", serde_json::to_string(&path_).unwrap());
    }
}
