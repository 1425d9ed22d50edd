//! Allocator of the module. If an allocation fails, the process ends with one sentence and status 1
//! (docs/decisions/0014). Rust alone would abort it with a core dump and status 134.

// An allocator cannot be written without unsafe code.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::io::{Cursor, IsTerminal, Write};

/// A process that cannot allocate this many bytes counts as out of memory (`retx.cli.memory` uses
/// the same number).
#[cfg(unix)]
const ROOM_BYTES: usize = 256 << 20;

const REMEDY: &str =
    "fewer flows, shorter runs, fewer recorded tables or fewer processes at once need less";

/// Maximum length of the sentence, bytes.
const SENTENCE_MAX: usize = 256;

/// Shows the cursor, which a progress bar hides, and leaves the line of the bar.
const LEAVE_PROGRESS_BAR: &str = "\x1b[?25h\n";

/// Allocator that ends the process if the wrapped allocator returns null.
#[derive(Debug)]
pub struct ExitsWithoutMemory<A>(pub A);

// SAFETY: every call is passed on unchanged, and its result is returned unchanged.
unsafe impl<A: GlobalAlloc> GlobalAlloc for ExitsWithoutMemory<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the conditions of `alloc`.
        granted(unsafe { self.0.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the conditions of `alloc_zeroed`.
        granted(unsafe { self.0.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller fulfils the conditions of `realloc`.
        granted(unsafe { self.0.realloc(at, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller fulfils the conditions of `dealloc`.
        unsafe { self.0.dealloc(at, layout) }
    }
}

#[inline]
fn granted(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        end_without_memory(bytes);
    }
    memory
}

/// Writes the sentence and ends the process. This function must neither allocate nor wait for a
/// lock, which another thread may hold while it allocates.
#[cold]
#[inline(never)]
fn end_without_memory(bytes: usize) -> ! {
    let mut sentence = Cursor::new([0; SENTENCE_MAX]);
    let before = if std::io::stderr().is_terminal() { LEAVE_PROGRESS_BAR } else { "" };
    // The buffer is large enough; an error would only cut the sentence.
    let _ = write!(sentence, "{before}error: out of memory");
    if bytes > 0 {
        let _ = write!(sentence, ": the system refused {bytes} more bytes");
    }
    let _ = writeln!(sentence, "; {REMEDY}");
    let length = sentence.position() as usize;
    let text = sentence.into_inner();
    // SAFETY: `text` has at least `length` bytes. Destructors do not run: they could allocate, and
    // temporary files are removed by the next command that writes there.
    unsafe {
        libc::write(2, text.as_ptr().cast(), length as _);
        libc::_exit(1)
    }
}

/// Makes the process end with the same sentence if another library, such as polars, aborts it
/// because memory is exhausted.
pub fn catch_aborts() {
    #[cfg(unix)]
    // SAFETY: the handler makes only system calls.
    unsafe {
        libc::signal(libc::SIGABRT, on_abort as *const () as libc::sighandler_t);
    }
}

/// Handler of SIGABRT. If memory is not exhausted, it returns, and `abort` ends the process.
#[cfg(unix)]
extern "C" fn on_abort(_: libc::c_int) {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let private = libc::MAP_PRIVATE | libc::MAP_ANON;
    // SAFETY: the new mapping overlaps no other, and the process ends in any case.
    let room = unsafe { libc::mmap(std::ptr::null_mut(), ROOM_BYTES, access, private, -1, 0) };
    if room == libc::MAP_FAILED {
        end_without_memory(0);
    }
}
