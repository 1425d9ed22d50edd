//! What happens to few packets: out of the way of the others.

use super::Engine;
use super::routes::{Step, pipe_of};
use crate::recorder::Drop;
use retx_link::Pipe;
use retx_link::pipe::Parcel;
use retx_link::stage::Departure;

impl Engine<'_> {
    /// A pipe wants to be woken for something else than a packet that is simply delivered.
    #[inline(never)]
    pub(super) fn pipe_due_otherwise(&mut self, index: u32) {
        let pipe = &mut self.pipes[index as usize];
        let departure = pipe.poll_transmit(self.now);
        self.agenda.wake(index, pipe.poll_timeout());
        if let Some(departure) = departure {
            self.depart_otherwise(index, &departure);
        }
    }

    /// What a pipe or another stage tells of a packet that does not leave it where it is to go;
    /// `index` is the place where it came in.
    #[inline(never)]
    pub(super) fn depart_otherwise(&mut self, index: u32, departure: &Departure) {
        match *departure {
            Departure::Delivered { id } => self.move_on(index, id),
            Departure::Lost { id, at, reason } => {
                self.drop(id, &Drop::by_channel(at, index, reason));
            }
            Departure::Dropped { id, at } => self.drop(id, &Drop::by_queue(at, index)),
            Departure::Marked { id } => self.packets.get_mut(id).mark(),
            Departure::Copied { id } => self.copy(index, id),
        }
    }

    /// [`Self::enter`], for those that come from a host.
    #[inline(never)]
    pub(super) fn send_into(&mut self, step: Step) {
        let word = self.routes[step.hop as usize];
        let pipe = self.pipes.get(pipe_of(word) as usize);
        if let Some(number) = pipe.and_then(Pipe::feeds) {
            return self.feed(number, step);
        }
        self.enter(word, step);
    }

    /// A packet has left a pipe or another stage at this place: on to what is behind it.
    #[inline(never)]
    pub(super) fn move_on(&mut self, from: u32, id: u32) {
        self.recorder.left(self.now, from, id, &mut self.packets);
        let parcel = Parcel { id, bytes: self.packets.get(id).bytes() };
        if let Some((id, to)) = self.take(self.step_from(from, parcel)) {
            self.deliver_apart(id, to);
        }
    }

    /// A packet is about to enter a pipe, or something else, and somebody wants to know.
    #[inline(never)]
    pub(super) fn watch_entry(&mut self, index: u32, id: u32) {
        if index < self.pipes.len() as u32 {
            self.recorder.entered(self.now, index, id, &mut self.packets);
        }
    }

    /// A pipe's queue is full.
    #[inline(never)]
    pub(super) fn turn_away(&mut self, index: u32, id: u32) {
        self.drop(id, &Drop::by_queue(self.now, index));
    }

    /// A channel has made a copy of a packet.
    #[cold]
    pub(super) fn copy(&mut self, index: u32, id: u32) {
        self.counts.copied += 1;
        let copy = self.packets.copy(id);
        self.tell_of_copy(id, copy);
        let pipe = &mut self.pipes[index as usize];
        pipe.add_copy(copy);
        self.agenda.wake(index, pipe.poll_timeout());
    }
}
