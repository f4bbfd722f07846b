use super::*;

#[test]
fn both_dialects_are_drawn_and_the_generator_stays_the_same() {
    // Given a generator for each seed
    let drawn: Vec<Dialect> = (1..=100)
        .map(|seed| {
            let mut random = Rng::with_seed(seed);
            // When a dialect is drawn
            let dialect = Dialect::draw(&random);
            // Then the next number is the same
            assert_eq!(random.u64(..), Rng::with_seed(seed).u64(..));
            dialect
        })
        .collect();
    // And each dialect is drawn often
    for dialect in Dialect::ALL {
        assert!(drawn.iter().filter(|drawn| **drawn == dialect).count() > 30, "{dialect:?} in {drawn:?}");
    }
}
