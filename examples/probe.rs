fn main() {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap();
        let t = std::time::Instant::now();
        match rag::ingest::extract::extract(&path, bytes, &Default::default()) {
            Ok(d) => println!("== {path} {:?}\n{:?} {:?} pages {:?} warnings {:?}\n{}", t.elapsed(), d.title, d.metadata, d.pages, d.warnings, d.text.chars().take(1500).collect::<String>()),
            Err(e) => println!("== {path} {e:?}"),
        }
    }
}
