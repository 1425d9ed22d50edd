mod plans;
use plans::*;
use retx_sim::*;
#[test]
fn p0() {
    for p in [0.0, 0.0001, 0.001, 0.01, 0.1] {
        let options = Options { segments: true, drops: true, episodes: true, ..Default::default() };
        let outcome = run_plan(&high_ber(p), &options, &Control::default()).unwrap();
        println!("{:#?}\n{:#?}\n{:?}", outcome.flows, outcome.links, outcome.engine);
    }
}
