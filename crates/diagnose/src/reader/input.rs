//! Bytes of a file, plain or compressed, through a buffer of bounded size.

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufReader, Chain, Cursor, Read};

/// Number of bytes that are read from the source at a time.
const CHUNK: usize = 256 << 10;

/// Stream with a buffer of the next bytes.
pub struct Input<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Number of bytes of the stream before the buffer.
    passed: u64,
    /// True if the stream has ended, or cannot be read any further.
    exhausted: bool,
    /// Error that prevents further reading.
    failure: Option<io::Error>,
}

impl<R: Read> Input<R> {
    /// Creates an input at the start of a stream.
    pub fn new(source: R) -> Self {
        let buffer = vec![0; 2 * CHUNK];
        Self { source, buffer, start: 0, end: 0, passed: 0, exhausted: false, failure: None }
    }

    /// Next bytes without consuming them: at least `least` bytes, unless the stream ends.
    #[inline]
    pub fn peek(&mut self, least: usize) -> &[u8] {
        if self.end - self.start < least {
            self.fill(least);
        }
        &self.buffer[self.start..self.end]
    }

    #[cold]
    fn fill(&mut self, least: usize) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < least + CHUNK {
            self.buffer.resize(least + CHUNK, 0);
        }
        while self.end < least && !self.exhausted {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.exhausted = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.exhausted = true;
                    self.failure = Some(error);
                }
            }
        }
    }

    /// Consumes bytes that [`Self::peek`] has returned.
    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.end - self.start);
        self.start += bytes;
        self.passed += bytes as u64;
    }

    /// Consumes `passed` bytes and returns the first `shown` of them.
    #[inline]
    pub fn read_prefix(&mut self, shown: usize, passed: usize) -> &[u8] {
        let start = self.start;
        self.consume(passed);
        &self.buffer[start..start + shown]
    }

    /// Consumes any number of bytes; returns false if the stream ends earlier.
    pub fn skip(&mut self, mut bytes: u64) -> bool {
        while bytes > 0 {
            let step = (self.peek(1).len() as u64).min(bytes);
            if step == 0 {
                return false;
            }
            self.consume(step as usize);
            bytes -= step;
        }
        true
    }

    /// Number of bytes of the stream before the next one.
    pub fn position(&self) -> u64 {
        self.passed
    }

    /// Error that prevents further reading, if any.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }
}

/// Bytes already read to detect the compression, followed by the rest of the stream.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// Stream that decompresses gzip and Zstandard.
pub enum Decompressed<R: Read> {
    /// Uncompressed.
    Plain(Whole<R>),
    /// One or more gzip members.
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
    /// One or more Zstandard frames.
    Zstandard(Box<ZstdFrames<Whole<R>>>),
}

impl<R: Read> Decompressed<R> {
    /// Detects the compression from the first bytes.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub fn new(mut source: R) -> io::Result<Self> {
        let mut first = Vec::with_capacity(4);
        (&mut source).take(4).read_to_end(&mut first)?;
        let found = first.clone();
        let whole = Cursor::new(first).chain(source);
        Ok(match found.as_slice() {
            [0x1f, 0x8b, ..] => Self::Gzip(Box::new(MultiGzDecoder::new(whole))),
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                Self::Zstandard(Box::new(ZstdFrames::new(whole)))
            }
            _ => Self::Plain(whole),
        })
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(source) => source.read(buffer),
            Self::Gzip(source) => source.read(buffer),
            Self::Zstandard(source) => source.read(buffer),
        }
    }
}

/// Sequence of Zstandard frames; skippable frames are ignored (RFC 8878 §3.1).
pub struct ZstdFrames<R: Read> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: Read> ZstdFrames<R> {
    fn new(source: R) -> Self {
        let source = BufReader::with_capacity(CHUNK, source);
        Self { source, decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Begins the next frame; returns false if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if io::BufRead::fill_buf(&mut self.source)?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped =
                        io::copy(&mut (&mut self.source).take(u64::from(length)), &mut io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

impl<R: Read> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame && !self.begin()? {
                return Ok(0);
            }
            self.in_frame = true;
            while self.decoder.can_collect() < buffer.len().min(CHUNK)
                && !self.decoder.is_finished()
            {
                let strategy = BlockDecodingStrategy::UptoBytes(CHUNK);
                self.decoder.decode_blocks(&mut self.source, strategy).map_err(io::Error::other)?;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.in_frame = false;
        }
    }
}
