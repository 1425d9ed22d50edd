fn main() {
    for name in std::env::args().skip(1) {
        let file = std::fs::File::open(&name).unwrap();
        match retx_diagnose::diagnose(file, &name) {
            Ok(answer) => println!("{}", serde_json::to_string(&answer).unwrap()),
            Err(error) => println!("{{\"error\": {:?}}}", error.to_string()),
        }
    }
}
