//! Ways that do not exist.

use super::*;

#[test]
fn routes() {
    refuse(
        "to = \"client\"",
        "to = \"server\"",
        "s.toml:17: flow.download.to: leads from \"server\" to itself: name two different nodes",
    );
    let island = "[[link]]\nname = \"island\"\nends = [\"a\", \"b\"]\n";
    let text = BASE.replace("[[flow]]", &format!("{island}[[flow]]"));
    assert_eq!(
        error(&text.replace("to = \"client\"", "to = \"a\""), &[]).to_string(),
        "s.toml:20: flow.download.to: no way from \"server\" to \"a\": links and wlans lead \
         from there to client only"
    );
    let via = |via: &str, message: &str| {
        let route = format!("[[route]]\nfrom = \"server\"\nto = \"client\"\nvia = {via}\n");
        let text = text.replace("[[flow]]", &format!("{route}[[flow]]"));
        assert_eq!(error(&text, &[]).to_string(), format!("s.toml:20: route.0.via: {message}"));
    };
    via("[]", "ends at \"server\", not at \"client\"");
    via("[\"cloud\", \"cloud\"]", "passes \"server\" twice");
    via("[\"island\"]", "link \"island\" joins \"a\" and \"b\", but the route is at \"server\"");
}

#[test]
fn a_path_ends_at_255_hops() {
    let chain = |hops: usize| {
        let link =
            |n: usize| format!("[[link]]\nname = \"{n}\"\nends = [\"n{n}\", \"n{}\"]\n", n + 1);
        let links: String = (0..hops).map(link).collect();
        format!(
            "duration = \"1 s\"\n{links}[[flow]]\nname = \"f\"\nfrom = \"n0\"\nto = \"n{hops}\"\n\
             tcp = \"reno\"\napp = {{ kind = \"transfer\", bytes = 9 }}\n"
        )
    };
    try_parse(&chain(255), &[]).unwrap();
    assert_eq!(
        error(&chain(256), &[]).to_string(),
        "s.toml:773: flow.f.to: 256 hops: at most 255 can be counted"
    );
}
