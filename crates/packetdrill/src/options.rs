//! Socket options and errors as numbers.

use libc::c_int;
use retx_drill::SocketOption;
use retx_drill::host::Errno;

/// Number of the option in Linux; the C library's headers may lack it.
const TCP_NOTSENT_LOWAT: c_int = 25;

/// Socket option for a level and an option number; `value` is the value to set.
///
/// # Errors
/// `ENOPROTOOPT`, or `EINVAL` for a value of the wrong length.
pub fn socket_option(level: c_int, name: c_int, value: &[u8]) -> Result<SocketOption, c_int> {
    let number = |index: usize| -> Result<i64, c_int> {
        let bytes = value.get(4 * index..4 * index + 4).ok_or(libc::EINVAL)?;
        let array = bytes.try_into().map_err(|_| libc::EINVAL)?;
        Ok(i32::from_ne_bytes(array).into())
    };
    Ok(match (level, name) {
        (libc::SOL_SOCKET, libc::SO_REUSEADDR | libc::SO_REUSEPORT) => {
            SocketOption::Reuse(number(0)?)
        }
        (libc::SOL_SOCKET, libc::SO_SNDBUF) => SocketOption::SendBuffer(number(0)?),
        (libc::SOL_SOCKET, libc::SO_RCVBUF) => SocketOption::ReceiveBuffer(number(0)?),
        (libc::SOL_SOCKET, libc::SO_LINGER) => {
            let (on, seconds) = (number(0)?, number(1)?);
            SocketOption::Linger((on != 0).then_some(seconds))
        }
        (libc::SOL_SOCKET, libc::SO_ERROR) => SocketOption::Error(String::new()),
        (libc::IPPROTO_TCP, libc::TCP_NODELAY) => SocketOption::NoDelay(number(0)?),
        (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => SocketOption::MaxSegment(number(0)?),
        (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => {
            let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
            let name = std::str::from_utf8(&value[..end]).map_err(|_| libc::EINVAL)?;
            SocketOption::Congestion(name.to_owned())
        }
        (libc::IPPROTO_TCP, libc::TCP_CORK) => SocketOption::Cork(number(0)?),
        (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => SocketOption::UserTimeout(number(0)?),
        (libc::IPPROTO_TCP, TCP_NOTSENT_LOWAT) => SocketOption::UnsentLowWater(number(0)?),
        (libc::SOL_SOCKET, libc::SO_RCVLOWAT) => SocketOption::ReadLowWater(number(0)?),
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => SocketOption::KeepAlive(number(0)?),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE) => SocketOption::KeepIdle(number(0)?),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL) => SocketOption::KeepInterval(number(0)?),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT) => SocketOption::KeepCount(number(0)?),
        _ => return Err(libc::ENOPROTOOPT),
    })
}

/// Number that `getsockopt` reports for an option.
///
/// # Errors
/// `ENOPROTOOPT` for an option that is not a number.
pub fn option_value(option: &SocketOption) -> Result<i32, c_int> {
    match option {
        SocketOption::Error(name) if name.is_empty() => Ok(0),
        SocketOption::Error(name) => Ok(errno_number(name)),
        SocketOption::Reuse(value)
        | SocketOption::SendBuffer(value)
        | SocketOption::ReceiveBuffer(value)
        | SocketOption::NoDelay(value)
        | SocketOption::MaxSegment(value)
        | SocketOption::Cork(value)
        | SocketOption::UserTimeout(value)
        | SocketOption::UnsentLowWater(value)
        | SocketOption::ReadLowWater(value)
        | SocketOption::KeepAlive(value)
        | SocketOption::KeepIdle(value)
        | SocketOption::KeepInterval(value)
        | SocketOption::KeepCount(value) => Ok(*value as i32),
        _ => Err(libc::ENOPROTOOPT),
    }
}

/// All errors of `retx_drill`'s sockets.
const ERRORS: [(Errno, c_int); 17] = [
    ("EAGAIN", libc::EAGAIN),
    ("EBADF", libc::EBADF),
    ("ECONNREFUSED", libc::ECONNREFUSED),
    ("ECONNRESET", libc::ECONNRESET),
    ("EDEADLK", libc::EDEADLK),
    ("EEXIST", libc::EEXIST),
    ("EFAULT", libc::EFAULT),
    ("EINPROGRESS", libc::EINPROGRESS),
    ("EINVAL", libc::EINVAL),
    ("EISCONN", libc::EISCONN),
    ("ENOENT", libc::ENOENT),
    ("ENOPROTOOPT", libc::ENOPROTOOPT),
    ("ENOTCONN", libc::ENOTCONN),
    ("ENOTSOCK", libc::ENOTSOCK),
    ("EOPNOTSUPP", libc::EOPNOTSUPP),
    ("EPIPE", libc::EPIPE),
    ("ETIMEDOUT", libc::ETIMEDOUT),
];

/// Number of an error.
///
/// # Panics
/// If the sockets never return this error.
pub fn errno_number(name: &str) -> c_int {
    match ERRORS.iter().find(|(known, _)| *known == name) {
        Some((_, number)) => *number,
        None => panic!("no number is known for the error {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_and_read() {
        let on = 1_i32.to_ne_bytes();
        let read = socket_option(libc::IPPROTO_TCP, libc::TCP_NODELAY, &on);
        assert_eq!(read, Ok(SocketOption::NoDelay(1)));
        assert_eq!(read.and_then(|option| option_value(&option)), Ok(1));
        let linger = [1_i32.to_ne_bytes(), 0_i32.to_ne_bytes()].concat();
        let read = socket_option(libc::SOL_SOCKET, libc::SO_LINGER, &linger);
        assert_eq!(read, Ok(SocketOption::Linger(Some(0))));
        let read = socket_option(libc::IPPROTO_TCP, libc::TCP_CONGESTION, b"reno\0\0");
        assert_eq!(read, Ok(SocketOption::Congestion("reno".into())));
        assert_eq!(
            socket_option(libc::IPPROTO_TCP, libc::TCP_NODELAY, &on[..2]),
            Err(libc::EINVAL)
        );
        assert_eq!(
            socket_option(libc::IPPROTO_TCP, libc::TCP_CORK, &on),
            Ok(SocketOption::Cork(1))
        );
        assert_eq!(socket_option(libc::IPPROTO_TCP, libc::TCP_MD5SIG, &on), Err(libc::ENOPROTOOPT));
    }

    #[test]
    fn errors_have_their_numbers() {
        assert_eq!(
            option_value(&SocketOption::Error("ECONNREFUSED".into())),
            Ok(libc::ECONNREFUSED)
        );
        assert_eq!(option_value(&SocketOption::Error(String::new())), Ok(0));
    }
}
