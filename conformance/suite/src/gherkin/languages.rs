//! Gherkin's keywords in each spoken language. `languages.json` is Cucumber's own table (`gherkin-languages.json` of
//! Gherkin 42, MIT, see `languages.LICENSE`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use cucumber::gherkin::StepType;
use serde::Deserialize;

/// The keywords of one language. Step keywords end in a space if the language uses one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Keywords {
    pub(super) feature: Vec<String>,
    pub(super) rule: Vec<String>,
    pub(super) background: Vec<String>,
    pub(super) scenario: Vec<String>,
    pub(super) scenario_outline: Vec<String>,
    pub(super) examples: Vec<String>,
    given: Vec<String>,
    when: Vec<String>,
    then: Vec<String>,
    and: Vec<String>,
    but: Vec<String>,
}

static LANGUAGES: LazyLock<BTreeMap<String, Keywords>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("languages.json")).expect("the table is read in a test")
});

impl Keywords {
    pub(super) fn of(language: &str) -> Option<&'static Self> {
        LANGUAGES.get(language)
    }

    /// The longest keyword that the line begins with, and the kinds of step that it allows. `And`, `But` and `*` have
    /// no kind; in some languages one word has two.
    pub(super) fn step(&self, line: &str) -> Option<(&str, Vec<StepType>)> {
        let lists = [&self.given, &self.when, &self.then, &self.and, &self.but];
        let keyword = lists
            .into_iter()
            .flatten()
            .filter(|word| line.starts_with(word.as_str()))
            .max_by_key(|word| word.len())?;
        let is_in = |list: &Vec<String>| list.contains(keyword);
        let kinds = [
            (&self.given, StepType::Given),
            (&self.when, StepType::When),
            (&self.then, StepType::Then),
        ];
        let kinds = if is_in(&self.and) || is_in(&self.but) {
            Vec::new()
        } else {
            kinds.into_iter().filter(|(list, _)| is_in(list)).map(|(_, kind)| kind).collect()
        };
        Some((keyword, kinds))
    }

    /// The keyword for this kind of step, for messages.
    pub(super) fn word(&self, kind: StepType) -> &str {
        match kind {
            StepType::Given => said(&self.given),
            StepType::When => said(&self.when),
            StepType::Then => said(&self.then),
        }
    }

    /// One keyword of each kind.
    pub(super) fn step_words(&self) -> Vec<&str> {
        let lists = [&self.given, &self.when, &self.then, &self.and, &self.but];
        let star = self.given.iter().map(|word| word.trim_end()).find(|word| *word == "*");
        lists.into_iter().map(|list| said(list)).chain(star).collect()
    }

    /// An English example with this language's keyword.
    pub(super) fn example(&self, english: &str) -> String {
        let kinds =
            [("Given ", StepType::Given), ("When ", StepType::When), ("Then ", StepType::Then)];
        let found =
            kinds.into_iter().find_map(|(word, kind)| Some((english.strip_prefix(word)?, kind)));
        found.map_or_else(
            || english.to_owned(),
            |(rest, kind)| format!("{} {rest}", self.word(kind)),
        )
    }

    pub(super) fn feature_word(&self) -> &str {
        said(&self.feature)
    }

    // Some languages list the English word before their own.
    pub(super) fn rule_word(&self) -> &str {
        self.rule.last().map_or("Rule", String::as_str)
    }

    pub(super) fn background_word(&self) -> &str {
        said(&self.background)
    }

    // The table lists `Example` first, which is easily confused with `Examples`.
    pub(super) fn scenario_word(&self) -> &str {
        self.scenario.last().map_or("Scenario", String::as_str)
    }

    pub(super) fn outline_word(&self) -> &str {
        said(&self.scenario_outline)
    }

    pub(super) fn examples_word(&self) -> &str {
        said(&self.examples)
    }
}

/// The first keyword that is not `*`.
fn said(words: &[String]) -> &str {
    words.iter().map(|word| word.trim_end()).find(|word| *word != "*").unwrap_or("*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_keyword_wins_and_gives_its_kinds() {
        let en = Keywords::of("en").expect("English is there");
        assert_eq!(en.step("Given x"), Some(("Given ", vec![StepType::Given])));
        assert_eq!(en.step("* x"), Some(("* ", Vec::new())));
        assert_eq!(en.step("Givenx"), None);
        // `Gegeben sei ` is a keyword, too; it must not match first.
        let de = Keywords::of("de").expect("German is there");
        assert_eq!(de.step("Gegeben seien x").map(|(word, _)| word), Some("Gegeben seien "));
        assert!(LANGUAGES.len() > 70);
    }

    #[test]
    fn advice_uses_keywords_of_the_language() {
        let de = Keywords::of("de").expect("German is there");
        assert_eq!(de.example("Then it returns:"), "Dann it returns:");
        assert_eq!(de.step_words(), ["Angenommen", "Wenn", "Dann", "Und", "Aber", "*"]);
        for (language, keywords) in LANGUAGES.iter() {
            for word in keywords.step_words() {
                let begins = |line: &str| keywords.step(line).is_some();
                assert!(
                    begins(&format!("{word} x")) || begins(&format!("{word}x")),
                    "{language}: {word}"
                );
            }
        }
    }
}
