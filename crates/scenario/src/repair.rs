//! Link-layer repair of frames that the channel loses: `arq = { … }` or `fec = { … }`.

use crate::error::Problem;
use crate::scenario::{Direction, LinkDirection};
use crate::tables::{DirectionTable, LinkTable};
use retx_link::channel::{self, Model};
use retx_link::pipe::repair::{Config, arq, fec};

/// Repair that the keys `arq` and `fec` of a table set; both at once are refused.
fn of(arq: Option<arq::Config>, fec: Option<fec::Config>) -> Result<Option<Config>, Problem> {
    let (key, check) = match (&arq, &fec) {
        (Some(_), Some(_)) => {
            let message = "stands beside `arq`: a link does one or the other; for both, put two \
                           links in a row";
            return Err(Problem::new(message).within("fec"));
        }
        (Some(arq), None) => ("arq", arq.check()),
        (None, Some(fec)) => ("fec", fec.check()),
        (None, None) => return Ok(None),
    };
    match check {
        Ok(()) => Ok(arq.map(Config::Arq).or(fec.map(Config::Fec))),
        Err((name, message)) => Err(Problem::new(message).within(name).within(key)),
    }
}

/// Repair of a direction: its own, or else that of the link.
///
/// # Errors
/// Both kinds at once, invalid values, or an incompatible queue or channel.
pub fn resolve_repair(
    link: &LinkTable,
    own: &DirectionTable,
    way: LinkDirection,
    direction: &Direction,
) -> Result<Option<Config>, Problem> {
    let of_link = of(link.arq, link.fec)?;
    let of_own = of(own.arq, own.fec).map_err(|problem| problem.within(way.name()))?;
    let Some(repair) = of_own.or(of_link) else { return Ok(None) };
    let key = match repair {
        Config::Arq(_) => "arq",
        Config::Fec(_) => "fec",
    };
    let refuse = |message: String| {
        let problem = Problem::new(message).within(key);
        Err(if of_own.is_some() { problem.within(way.name()) } else { problem })
    };
    if direction.queue.name() != "droptail" {
        return refuse(format!(
            "goes with the queue \"droptail\" only, and this is \"{}\": put that on a link before \
             this one",
            direction.queue.name()
        ));
    }
    let changed = direction.changes.iter().filter_map(|change| change.channel.as_ref()).flatten();
    let unfit = |model: &&channel::Config| !model.only_loses() && model.rates().is_none();
    match direction.channel.iter().chain(changed).find(unfit) {
        None => Ok(Some(filled_in(repair, direction))),
        Some(model) => refuse(format!(
            "\"{}\" does more than lose frames, and what is lost is sent in order here: put it on \
             another link",
            model.name()
        )),
    }
}

/// Copy of a repair, with the defaults filled in that depend on the direction.
fn filled_in(repair: Config, direction: &Direction) -> Config {
    match repair {
        Config::Arq(arq) => Config::Arq(arq::Config {
            feedback: Some(arq.feedback_or_default(direction.delay)),
            ..arq
        }),
        fec @ Config::Fec(_) => fec,
    }
}

/// Tables `arq` and `fec` of the file, of which at most one is set.
pub const fn repair_tables(repair: Option<Config>) -> (Option<arq::Config>, Option<fec::Config>) {
    match repair {
        None => (None, None),
        Some(Config::Arq(arq)) => (Some(arq), None),
        Some(Config::Fec(fec)) => (None, Some(fec)),
    }
}
