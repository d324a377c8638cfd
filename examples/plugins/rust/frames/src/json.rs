//! As much of JSON as rows of plain values need. The engine gives JSON that is right; what is not, is refused all the same.

pub enum Value {
    Text(String),
    Number(f64),
    Flag(bool),
    /// Null, a list or an object.
    Other,
}

pub struct Json<'a> {
    text: &'a [u8],
    at: usize,
}

type Step = Result<(), String>;

impl<'a> Json<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Json { text, at: 0 }
    }

    /// An object, or each object of a list.
    pub fn each_object(&mut self, mut read: impl FnMut(&mut Self) -> Step) -> Step {
        if self.peek() != b'[' {
            return read(self);
        }
        self.each(b'[', b']', |json| read(json))
    }

    pub fn each_member(&mut self, mut take: impl FnMut(&str, Value) -> Step) -> Step {
        self.each(b'{', b'}', |json| {
            let key = json.string()?;
            json.expect(b':')?;
            let value = json.value()?;
            take(&key, value)
        })
    }

    fn each(&mut self, open: u8, close: u8, mut read: impl FnMut(&mut Self) -> Step) -> Step {
        self.expect(open)?;
        if self.peek() == close {
            return self.expect(close);
        }
        loop {
            read(self)?;
            if self.peek() == close {
                return self.expect(close);
            }
            self.expect(b',')?;
        }
    }

    fn value(&mut self) -> Result<Value, String> {
        match self.peek() {
            b'"' => Ok(Value::Text(self.string()?)),
            b'{' => self.each(b'{', b'}', |json| {
                json.string()?;
                json.expect(b':')?;
                json.value().map(|_| ())
            }).map(|_| Value::Other),
            b'[' => self.each(b'[', b']', |json| json.value().map(|_| ())).map(|_| Value::Other),
            _ => {
                let start = self.at;
                while self.at < self.text.len() && !b",]} \n\r\t".contains(&self.text[self.at]) {
                    self.at += 1;
                }
                let word = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
                match word {
                    "true" | "false" => Ok(Value::Flag(word == "true")),
                    "null" => Ok(Value::Other),
                    _ => word.parse().map(Value::Number).map_err(|_| self.wrong()),
                }
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect(b'"')?;
        let mut out = Vec::new();
        loop {
            let c = self.next()?;
            match c {
                b'"' => return String::from_utf8(out).map_err(|_| self.wrong()),
                b'\\' => self.escaped(&mut out)?,
                _ => out.push(c),
            }
        }
    }

    fn escaped(&mut self, out: &mut Vec<u8>) -> Step {
        let c = self.next()?;
        out.push(match c {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let mut code = self.hex()?;
                if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    code = 0x10000 + ((code - 0xd800) << 10) + (self.hex()?.wrapping_sub(0xdc00) & 0x3ff);
                }
                let mut bytes = [0; 4];
                let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend(character.encode_utf8(&mut bytes).bytes());
                return Ok(());
            }
            _ => c,
        });
        Ok(())
    }

    fn hex(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            code = code * 16 + (self.next()? as char).to_digit(16).ok_or_else(|| self.wrong())?;
        }
        Ok(code)
    }

    fn peek(&mut self) -> u8 {
        while self.at < self.text.len() && self.text[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn next(&mut self) -> Result<u8, String> {
        let c = self.text.get(self.at).copied().ok_or_else(|| self.wrong());
        self.at += 1;
        c
    }

    fn expect(&mut self, wanted: u8) -> Step {
        if self.peek() != wanted {
            return Err(self.wrong());
        }
        self.at += 1;
        Ok(())
    }

    fn wrong(&self) -> String {
        format!("the rows are no JSON at byte {}", self.at)
    }
}

/// A text as JSON has it.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
