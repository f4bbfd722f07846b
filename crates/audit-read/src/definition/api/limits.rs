//! The sizes of tasks that Fargate offers, and the form of a region. Source:
//! <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html>

use std::ops::RangeInclusive;

/// A size of Fargate: CPU units, the range of the memory in mebibytes, and its steps.
#[derive(Debug)]
pub struct FargateSize {
    pub cpu: u64,
    pub memory: RangeInclusive<u64>,
    pub step: u64,
}

const fn size(cpu: u64, memory: RangeInclusive<u64>, step: u64) -> FargateSize {
    FargateSize { cpu, memory, step }
}

pub static FARGATE_SIZES: [FargateSize; 7] = [
    size(256, 512..=2048, 512),
    size(512, 1024..=4096, 1024),
    size(1024, 2048..=8192, 1024),
    size(2048, 4096..=16_384, 1024),
    size(4096, 8192..=30_720, 1024),
    size(8192, 16_384..=61_440, 4096),
    size(16_384, 32_768..=122_880, 8192),
];

impl FargateSize {
    /// Whether the size has this memory.
    pub fn has(&self, memory: u64) -> bool {
        // A quarter of a CPU has 512, 1024 and 2048.
        let is_left_out = self.cpu == 256 && memory == 1536;
        self.memory.contains(&memory) && (memory - self.memory.start()).is_multiple_of(self.step) && !is_left_out
    }
}

/// CPU units: `256`, `.25 vCPU`. `None` for another text.
pub fn units(text: &str) -> Option<u64> {
    scaled(text, "vcpu", 1024)
}

/// Mebibytes: `512`, `0.5 GB`. `None` for another text.
pub fn mebibytes(text: &str) -> Option<u64> {
    scaled(text, "gb", 1024)
}

/// A number without a unit, or as many thousandths of a unit as it has.
fn scaled(text: &str, unit: &str, factor: u64) -> Option<u64> {
    let lower = text.trim().to_lowercase();
    let Some(number) = lower.strip_suffix(unit) else { return lower.parse().ok() };
    let (whole, part) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digits: u32 = part.len().try_into().ok().filter(|digits| *digits <= 9)?;
    let part: u64 = if part.is_empty() { 0 } else { part.parse().ok()? };
    Some(whole.checked_mul(factor)? + part * factor / 10_u64.pow(digits))
}

/// Whether a text has the form of a region: `eu-west-1`, `us-gov-east-1`.
pub fn is_region(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_word = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase());
    match parts.as_slice() {
        [words @ .., number] => {
            words.len() >= 2 && words.iter().all(is_word) && number.len() == 1 && number.parse::<u8>().is_ok()
        }
        [] => false,
    }
}

/// Whether a text certainly is no region. With other characters than a region's, it may be what another program replaces,
/// unless they alone are wrong: `EU-WEST-1`.
pub fn is_no_region(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    !is_region(text) && (is_plain || is_region(&text.to_ascii_lowercase().replace('_', "-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_a_unit() {
        assert_eq!(
            [units("256"), units(".25 vCPU"), units("1vcpu"), units("0.5 vCPU")],
            [256, 256, 1024, 512].map(Some)
        );
        assert_eq!([mebibytes("512"), mebibytes("0.5GB"), mebibytes("30 gb")], [512, 512, 30_720].map(Some));
        assert_eq!([units("one"), mebibytes("1 MB"), mebibytes("")], [None; 3]);
    }

    #[test]
    fn each_size_has_its_steps() {
        let has = |cpu: u64, memory: u64| FARGATE_SIZES.iter().any(|size| size.cpu == cpu && size.has(memory));
        assert!(has(256, 2048) && has(512, 3072) && has(8192, 20_480) && has(16_384, 122_880));
        assert!(!has(256, 1536) && !has(256, 3072) && !has(512, 1536) && !has(8192, 17_408) && !has(300, 512));
    }

    #[test]
    fn a_region_has_words_and_a_number() {
        for (text, expected) in [
            ("eu-west-1", true),
            ("us-gov-east-1", true),
            ("mx-central-1", true),
            ("eu-west1", false),
            ("EU-WEST-1", false),
            ("eu-west-1a", false),
            ("eu_west_1", false),
            ("", false),
        ] {
            assert_eq!(is_region(text), expected, "{text}");
            assert_eq!(is_no_region(text), !expected, "{text}");
        }
        for text in ["REGION", "@@REGION@@", "AWS_REGION", "~region~", "|eu-west-1|"] {
            assert!(!is_region(text) && !is_no_region(text), "{text}");
        }
    }
}
