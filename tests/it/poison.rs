//! Attackers in the swarm, and what keeps them out.

use crate::outsiders::{column, experiment, run};
use crate::program::{fails, sapo};
use crate::swarm::{config, seat, seated, tasks};
use sapo::member::{Attack, PAYLOAD, Poison, Scripted};
use sapo::swarm::{Admission, RoundRecord, SwarmConfig};

/// The first round of two honest agents beside an attacker, each of whom asks two questions.
fn round(attack: Attack, admission: Admission) -> Vec<RoundRecord> {
    let config = SwarmConfig {
        admission,
        payload: Some(PAYLOAD),
        ..config(2, 2)
    };
    let honest = || seat(Scripted::with_skill(0.5), &tasks());
    let attacker = seat(Poison::new(attack, 1000), &tasks());
    let mut swarm = seated(vec![honest(), honest(), attacker], config, 1);
    swarm.step(1, |_| ()).unwrap()
}

/// Rollouts of the others that an honest agent could use and could not.
fn pool(attack: Attack, admission: Admission) -> (usize, usize) {
    let records = round(attack, admission);
    (records[0].pool_groups, records[0].pool_dropped)
}

const REMAKE: Admission = Admission {
    remake_questions: true,
    max_per_sender: 0,
};

#[test]
fn a_ground_truth_is_made_again_from_the_seed_of_its_question() {
    assert_eq!(pool(Attack::WrongTruth, Admission::default()), (4, 0));
    assert_eq!(pool(Attack::WrongTruth, REMAKE), (2, 2));
    // honest questions with a payload in the answers are what their task makes of them
    assert_eq!(pool(Attack::Payload, REMAKE), (4, 0));
}

#[test]
fn a_flood_is_no_more_than_anybody_may_publish() {
    assert_eq!(pool(Attack::Flood, Admission::default()), (4, 126));
    let one = Admission {
        max_per_sender: 1,
        ..Admission::default()
    };
    assert_eq!(pool(Attack::Flood, one), (2, 128));
    assert_eq!(pool(Attack::Payload, one), (2, 2));
}

#[test]
fn tasks_that_nobody_knows_are_dropped() {
    assert_eq!(pool(Attack::Nonsense, Admission::default()), (3, 1));
}

#[test]
fn the_share_of_completions_with_the_payload_is_told() {
    let records = round(Attack::Payload, Admission::default());
    let shares: Vec<_> = records.iter().map(|record| record.payload_frac).collect();
    assert_eq!(shares, [Some(0.0), Some(0.0), Some(0.5)]);
    // half of what the attacker writes is right
    assert_eq!(records[2].own_reward, Some(0.5));
}

#[test]
fn an_attack_is_a_member_of_the_experiment() {
    let dir = tempfile::tempdir().unwrap();
    let poison = "[[swarm.agent]]\nagents = [5]\nkind = \"poison\"\nattack = \"payload\"\n";
    let defended =
        "[train]\nforeign_min_logprob = -0.01\n[swarm.admission]\nremake_questions = true\n";
    let (_, rows) = run(dir.path(), "poison", &format!("{poison}{defended}"));
    let of = |name: &str| -> Vec<String> {
        let cells = column(&rows, "agent").into_iter().zip(column(&rows, name));
        let honest = cells.filter(|(agent, _)| *agent != "5");
        honest.map(|(_, cell)| cell.to_owned()).collect()
    };
    assert!(of("payload_frac").iter().all(|cell| cell == "0"));
    // nothing of the others is likely enough
    let filtered = of("filtered_frac");
    assert!(
        filtered.iter().all(|cell| cell.is_empty() || cell == "1"),
        "{filtered:?}"
    );
    assert!(filtered.iter().any(|cell| cell == "1"), "{filtered:?}");
    assert!(of("member").iter().all(|cell| cell == "tiny"));
    let file = experiment(dir.path(), &poison.replace("attack", "attacks"));
    fails(&["check", &file], &["attacks", "attack"]);
    let file = experiment(
        dir.path(),
        "[[swarm.agent]]\nagents = [5]\nkind = \"poison\"\n",
    );
    fails(
        &["check", &file],
        &["swarm.agent[0].attack: found none, expected one"],
    );
    sapo(&["check", &experiment(dir.path(), poison)])
        .assert()
        .success();
}
