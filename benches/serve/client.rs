//! One connection that asks over HTTP/1.1 and waits. Not for: anything but JSON of a known length.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::Result;

/// A longer answer is none of ours.
const MAX_ANSWER: usize = 16 << 20;

pub struct Client {
    stream: TcpStream,
    address: String,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub retry_after: bool,
    pub body: Vec<u8>,
}

impl Client {
    pub async fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, address: address.to_owned(), bytes: Vec::with_capacity(64 << 10) })
    }

    /// `key`: a bearer key, or nothing.
    pub async fn post(&mut self, path: &str, body: &str, key: &str) -> Result<Answer> {
        let key = if key.is_empty() { String::new() } else { format!("authorization: Bearer {key}\r\n") };
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n{key}content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.bytes.clear();
        loop {
            if let Some(head) = self.bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                return self.answer(head + 4).await;
            }
            self.more().await?;
        }
    }

    async fn answer(&mut self, start: usize) -> Result<Answer> {
        let head = String::from_utf8_lossy(&self.bytes[..start]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or("an answer without a status")?;
        let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
        let length: usize = value("content-length:").ok_or("an answer without a length")?.parse()?;
        let retry_after = value("retry-after:").is_some();
        if length > MAX_ANSWER {
            return Err("an answer that is too long".into());
        }
        while self.bytes.len() < start + length {
            self.more().await?;
        }
        Ok(Answer { status, retry_after, body: self.bytes[start..start + length].to_vec() })
    }

    async fn more(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.bytes).await? {
            0 => Err("the connection was closed".into()),
            _ => Ok(()),
        }
    }
}
