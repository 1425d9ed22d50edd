//! Names of congestion controls under the Linux presets, where they denote the kernel's modules
//! (`docs/decisions/0016-names-under-linux.md`).

use retx_tcp::presets;
use serde_json::{Map, Value};

/// Resolves the congestion control `choice` of a TCP that starts from a Linux preset; `inherited`
/// is the choice of the TCP from which it starts.
///
/// If `choice` has a parameter that the kernel's module lacks, the name denotes the model of the
/// RFC or paper instead, which has this parameter.
pub fn resolve_linux_name(choice: &Value, inherited: Option<&Value>) -> Value {
    let own = match choice {
        Value::String(name) => Map::from_iter([("name".to_owned(), name.as_str().into())]),
        Value::Object(table) => table.clone(),
        _ => return choice.clone(),
    };
    let Some(Value::Object(mut module)) = module(&own) else { return choice.clone() };
    if own.keys().any(|parameter| !module.contains_key(parameter)) {
        return choice.clone();
    }
    let name = module["name"].clone();
    // A table for the inherited module sets only its own keys, so that the other inherited
    // parameters remain. A bare name starts from the defaults.
    let goes_on = choice.is_object() && inherited.is_some_and(|it| it.get("name") == Some(&name));
    if goes_on {
        module.clear();
    }
    module.extend(own);
    module.insert("name".to_owned(), name);
    Value::Object(module)
}

/// The kernel's module of that name, with all its parameters.
fn module(choice: &Map<String, Value>) -> Option<Value> {
    let module = presets::linux_module(choice.get("name")?.as_str()?)?;
    Some(serde_json::to_value(module).expect("a choice is plain data"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_the_kernels() {
        let bare = |name: &str| resolve_linux_name(&json!(name), None);
        assert_eq!(bare("reno"), json!({ "name": "reno_linux" }));
        let unique = "bbr htcp illinois bic highspeed scalable yeah dctcp cdg lp nv";
        for name in unique.split(' ') {
            assert_eq!(bare(name)["name"], name);
        }
        let cubic = bare("cubic");
        assert_eq!(
            ["name", "variant", "slow_start"].map(|key| cubic[key].as_str().expect("a name")),
            ["cubic", "linux", "hystart"]
        );
        for name in ["prairie_like", "reno_linux", "nix"] {
            assert_eq!(bare(name), json!(name), "Linux has none of that name");
        }
        assert_eq!(resolve_linux_name(&json!(7), None), json!(7));
    }

    #[test]
    fn parameters_say_whose_model() {
        let of = |choice| resolve_linux_name(&choice, None);
        let vegas = of(json!({ "name": "vegas", "alpha": 3 }));
        assert_eq!((&vegas["name"], &vegas["alpha"]), (&json!("vegas_linux"), &json!(3)));
        for own in [
            json!({ "name": "reno", "growth": "per_ack" }),
            json!({ "name": "vegas", "alpha": 3, "fine_retransmission": true }),
            json!({ "name": "veno", "growth": "per_ack" }),
            json!({ "name": "westwood", "tau": "500 ms" }),
            json!({ "name": "hybla", "rtt0": "25 ms" }),
        ] {
            assert_eq!(of(own.clone()), own);
        }
        assert_eq!(of(json!({ "name": "cubic", "c": 0.5 }))["variant"], "linux");
        assert_eq!(of(json!({ "name": "cubic", "variant": "rfc9438" }))["variant"], "rfc9438");
    }

    #[test]
    fn a_table_continues_from_the_settings_of_its_module() {
        let inherited = json!({ "name": "vegas_linux", "alpha": 3, "beta": 6, "gamma": 1 });
        let table = json!({ "name": "vegas", "beta": 5 });
        let expected = json!({ "name": "vegas_linux", "beta": 5 });
        assert_eq!(resolve_linux_name(&table, Some(&inherited)), expected);
        let bare = resolve_linux_name(&json!("vegas"), Some(&inherited));
        assert_eq!(bare["alpha"], 2, "the default");
    }
}
