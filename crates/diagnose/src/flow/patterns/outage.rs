//! Outage: all packets of a period are lost, so several timeouts follow each other.

use crate::answer::Pattern;
use crate::flow::direction::TimeoutRecord;
use crate::flow::record::RetransmissionRecord;

/// Number of consecutive timeouts from which on a series counts as an outage.
const IN_A_ROW: u32 = 3;

/// The longest outage; `None` without outages.
pub fn longest_outage(
    timeouts: &[TimeoutRecord],
    records: &[RetransmissionRecord],
) -> Option<Pattern> {
    let number = |it: &TimeoutRecord| records[it.index as usize].consecutive_timeouts;
    // A timeout with the number 1 is the first of a series and begins a new group.
    let groups = timeouts.chunk_by(|_, next| number(next) > 1);
    let outages = groups.filter(|group| group.last().is_some_and(|it| number(it) >= IN_A_ROW));
    // The silence is the sum of the waits, because each wait begins with the previous
    // retransmission.
    let length = |group: &[TimeoutRecord]| group.iter().map(|it| it.waited_ns).sum::<i64>();
    let (mut count, mut longest) = (0, None::<&[TimeoutRecord]>);
    for group in outages {
        count += 1;
        if longest.is_none_or(|other| length(group) > length(other)) {
            longest = Some(group);
        }
    }
    let group = longest?;
    let [first, .., last] = group else { return None };
    let (first, last) = (records[first.index as usize].packet, records[last.index as usize].packet);
    let evidence = format!(
        "{} timeouts in a row, {:.1} s in all, from frame {first} to frame {last}{}",
        group.len(),
        length(group) as f64 * 1e-9,
        if count > 1 { format!("; {count} such series") } else { String::new() }
    );
    Some(Pattern::new("outage", evidence, vec![first, last], 0.9))
}
