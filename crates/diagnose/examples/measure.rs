fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let open = |p: &str| std::fs::File::open(p).unwrap();
    for path in &args {
        let (_, found) = if path.ends_with("-b") {
            let (s, r) = (path.replace("-b", "-s.pcapng"), path.replace("-b", "-r.pcapng"));
            retx_diagnose::measure::measure_pair([open(&s), open(&r)], [&s, &r], 1).unwrap()
        } else {
            retx_diagnose::measure::measure(open(path), path, 1).unwrap()
        };
        println!("{}", serde_json::to_string(&found).unwrap());
    }
}
