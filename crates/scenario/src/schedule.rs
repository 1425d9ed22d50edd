//! Scheduled changes of a link: `schedule = [{ at = "10 s", rate = "2 Mbit/s" }, …]`.

use crate::error::Problem;
use crate::scenario::{Change, Direction, LinkDirection};
use crate::tables::{ChangeTable, ChangeValues, Channels, LinkTable, take_equal};
use crate::wording::check_order;
use retx_link::channel::Model;
use retx_units::{Duration, Rate};

/// Changes of one direction, in order of time.
///
/// # Errors
/// Times that do not increase, an empty change, or a rate for a direction without one.
pub fn changes(
    link: &LinkTable,
    way: LinkDirection,
    first: &Direction,
) -> Result<Vec<Change>, Problem> {
    let mut changes = Vec::new();
    for (index, table) in link.schedule.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| link.schedule[index].at);
        let change = change(table, way)
            .and_then(|change| check(table, before).map(|()| change))
            .and_then(|change| check_rate(&change, table, way, first).map(|()| change))
            .map_err(|problem| problem.within_element("schedule", index))?;
        changes.extend(change);
    }
    Ok(changes)
}

/// Change that a table makes to one direction; `None` if it makes none.
fn change(table: &ChangeTable, way: LinkDirection) -> Result<Option<Change>, Problem> {
    let own = own(table, way);
    let change = Change {
        at: table.at,
        rate: own.rate.or(table.rate),
        delay: own.delay.or(table.delay),
        channel: own.channel.as_ref().or(table.channel.as_ref()).map(|models| models.0.clone()),
    };
    let nothing = change.rate.is_none() && change.delay.is_none() && change.channel.is_none();
    Ok((!nothing).then_some(change))
}

const fn own(table: &ChangeTable, way: LinkDirection) -> &ChangeValues {
    match way {
        LinkDirection::Forward => &table.forward,
        LinkDirection::Reverse => &table.reverse,
    }
}

fn check(table: &ChangeTable, before: Option<Duration>) -> Result<(), Problem> {
    check_order(table.at, before)?;
    let ways = [LinkDirection::Forward, LinkDirection::Reverse];
    if ways.into_iter().all(|way| matches!(change(table, way), Ok(None))) {
        return Err(Problem::new("changes nothing: give it `rate`, `delay` or `channel`"));
    }
    Ok(())
}

fn check_rate(
    change: &Option<Change>,
    table: &ChangeTable,
    way: LinkDirection,
    first: &Direction,
) -> Result<(), Problem> {
    let Some(change) = change else { return Ok(()) };
    let owned = own(table, way);
    let blame = |key: &str, owned: bool, message: &str| {
        let problem = Problem::new(message).within(key);
        Err(if owned { problem.within(way.name()) } else { problem })
    };
    let models = change.channel.as_deref().unwrap_or_default();
    if models.iter().any(|model| model.rates().is_some()) {
        let message = "a trace that gives the rate holds from the beginning: write it as the \
                       link's channel";
        return blame("channel", owned.channel.is_some(), message);
    }
    match change.rate {
        Some(rate) if rate < Rate::from_bit_s(1) => {
            blame("rate", owned.rate.is_some(), "0 bit/s sends nothing: use an \"outage\"")
        }
        Some(_) if first.rate.is_none() => {
            blame("rate", owned.rate.is_some(), "the link has no rate of its own to change")
        }
        _ => Ok(()),
    }
}

/// Schedule of both directions, as in the file.
pub fn change_tables(forward: &[Change], reverse: &[Change]) -> Vec<ChangeTable> {
    let (mut forward, mut reverse) = (forward.iter().peekable(), reverse.iter().peekable());
    let mut tables = Vec::new();
    loop {
        let next = [forward.peek(), reverse.peek()].into_iter().flatten().map(|change| change.at);
        let Some(at) = next.min() else { return tables };
        let values = |change: Option<&Change>| {
            change.map_or_else(ChangeValues::default, |change| ChangeValues {
                rate: change.rate,
                delay: change.delay,
                channel: change.channel.clone().map(Channels),
            })
        };
        let mut forward = values(forward.next_if(|change| change.at == at));
        let mut reverse = values(reverse.next_if(|change| change.at == at));
        tables.push(ChangeTable {
            at,
            rate: take_equal(&mut forward.rate, &mut reverse.rate),
            delay: take_equal(&mut forward.delay, &mut reverse.delay),
            channel: take_equal(&mut forward.channel, &mut reverse.channel),
            forward,
            reverse,
        });
    }
}
