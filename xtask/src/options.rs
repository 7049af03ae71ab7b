//! Parses the arguments of a command.

pub(crate) struct Options {
    words: Vec<String>,
    usage: &'static str,
}

impl Options {
    /// # Errors
    /// Returns the usage as an error if the user asks for help.
    pub(crate) fn of(args: &[String], usage: &'static str) -> Result<Self, String> {
        if args.iter().any(|word| word == "--help" || word == "-h") {
            return Err(usage.to_owned());
        }
        Ok(Self { words: args.to_vec(), usage })
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() < before
    }

    /// Every value of an option, as `--name VALUE` or `--name=VALUE`.
    pub(crate) fn values(&mut self, name: &str) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        let mut rest = Vec::new();
        let mut words = std::mem::take(&mut self.words).into_iter();
        while let Some(word) = words.next() {
            if word == name {
                let missing = || format!("`{name}` needs a value\n{}", self.usage);
                values.push(words.next().ok_or_else(missing)?);
            } else if let Some(value) =
                word.strip_prefix(name).and_then(|end| end.strip_prefix('='))
            {
                values.push(value.to_owned());
            } else {
                rest.push(word);
            }
        }
        self.words = rest;
        Ok(values)
    }

    /// The last given number, at least 1.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.values(name)?.pop() else { return Ok(None) };
        match text.parse() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => {
                Err(format!("`{name}` takes a number of at least 1, not `{text}`\n{}", self.usage))
            }
        }
    }

    /// Positional arguments.
    pub(crate) fn words(&mut self) -> Vec<String> {
        let (options, words) =
            std::mem::take(&mut self.words).into_iter().partition(|word| word.starts_with('-'));
        self.words = options;
        words
    }

    /// # Errors
    /// If an argument is left over.
    pub(crate) fn finish(self) -> Result<(), String> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(format!("unknown argument `{word}`\n{}", self.usage)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &[&str]) -> Options {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Options::of(&words, "usage").unwrap()
    }

    #[test]
    fn flags_values_and_words_are_distinguished() {
        let mut options =
            options(&["lines", "--crate", "a", "--fresh", "--crate=b", "--jobs", "3"]);
        assert_eq!(options.values("--crate").unwrap(), ["a", "b"]);
        assert_eq!(options.number("--jobs").unwrap(), Some(3));
        assert!(options.flag("--fresh") && !options.flag("--report"));
        assert_eq!(options.words(), ["lines"]);
        options.finish().unwrap();
    }

    #[test]
    fn errors_name_the_argument() {
        assert!(options(&["--crate"]).values("--crate").unwrap_err().contains("--crate"));
        assert!(options(&["--jobs", "0"]).number("--jobs").unwrap_err().contains("`0`"));
        assert!(options(&["--what"]).finish().unwrap_err().contains("--what"));
    }
}
