//! Start and end of a flow's life, and the handshake at its start.

use super::Flow;
use super::account::Limit;
use super::direction::Direction;

impl Flow {
    /// Side that opened the connection; none if a SYN was not captured.
    pub(super) fn opener_of_handshake(&self) -> Option<usize> {
        self.opener.filter(|_| self.syn_ns.iter().all(Option::is_some))
    }

    /// Time to be added to the account of each direction for the start of the flow: the time that
    /// the opener's SYN took to reach the capture, minus the time from the data's sender to the
    /// capture. The second time is subtracted because all times in the account are late by it.
    fn before_ns(&self, sender: usize) -> i64 {
        let Some(opener) = self.opener_of_handshake() else { return 0 };
        let way_ns = |side: usize| self.loops[side].least_ns.unwrap_or(0) / 2;
        way_ns(opener) - way_ns(sender)
    }

    /// Side that answered the SYN and then waited for the first request; none if it sent first, or
    /// if the handshake was not captured. The handshake ended when the opener was connected, as in
    /// simulations: from then on the server waited for the request, as on an open connection.
    fn asked_side(&self) -> Option<usize> {
        let opener = self.opener_of_handshake()?;
        (self.first_talker == Some(opener)).then_some(1 - opener)
    }

    /// Closes the accounts; returns the lifetime of the data of each side.
    pub(super) fn close(&mut self, end_ns: i64) -> [i64; 2] {
        let before_ns = [self.before_ns(0), self.before_ns(1)];
        let mut ends = [end_ns; 2];
        let asked = self.asked_side();
        let way_ns = self.loops.each_ref().map(|it| it.least_ns.unwrap_or(0) / 2).iter().sum();
        let sides = self.halves.iter_mut().zip(&mut ends).zip(before_ns).enumerate();
        for (side, ((half, end), before_ns)) in sides {
            half.advance_to_end(end_ns);
            *end = before_ns + half.account.close(end_ns, half.current_episode());
            half.attribute_end_to_application();
            half.correct_limits();
            half.account.add_syn_time(before_ns);
            if asked == Some(side) {
                let [handshake, application] = [Limit::Handshake, Limit::Application];
                half.account.reassign(way_ns, (handshake, None), (application, None));
            }
        }
        ends
    }
}

impl Direction {
    /// True before the handshake has ended, or before the answer to the sender's SYN has reached
    /// the sender, if it has sent nothing else.
    pub(super) fn waits_for_handshake(&self) -> bool {
        let waits_for_answer = || self.sender.snd_una <= 0 && self.scoreboard.end <= 1;
        !self.is_established || (self.has_syn && waits_for_answer())
    }
}
