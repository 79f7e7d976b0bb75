//! Facts, true ways to say each, and false ones: how many of the true are thrown away, how many of the false come through.
//!
//! About things the other cases do not speak of. A true one differs in words, order and voice; a false one in a number, a unit,
//! a name, a negation, an opposite, or in who does it to whom. Measured first: 16 of 92 true ones were thrown away and 21 of 184
//! false ones came through; the rules were mended since, so what the test asks for is of seen sentences.

use super::{Checker, Verdict};
use crate::retrieve::{
    Support,
    passages::{Passage, tests::hit},
    sentences::Kind,
};

struct Fact {
    said: &'static str,
    truly: &'static [&'static str],
    falsely: &'static [&'static str],
}

const fn fact(said: &'static str, truly: &'static [&'static str], falsely: &'static [&'static str]) -> Fact {
    Fact { said, truly, falsely }
}

const FACTS: [Fact; 46] = [
    fact(
        "The museum opens at ten and closes at six; on Mondays it stays closed.",
        &["The museum is open from 10:00 to 18:00.", "On Mondays the museum does not open."],
        &[
            "The museum is open on Mondays.",
            "The museum opens at nine.",
            "The museum closes at seven.",
            "The museum never closes on Mondays.",
        ],
    ),
    fact(
        "Members may borrow up to eight books for four weeks.",
        &["A member can borrow eight books at most.", "Books are lent to members for four weeks."],
        &[
            "Members may borrow up to ten books.",
            "Members may borrow books for six weeks.",
            "Members may not borrow books.",
            "Members may borrow at least eight books.",
        ],
    ),
    fact(
        "The bridge was built in 1932 by Dorman Long and is 503 metres long.",
        &["Dorman Long built the bridge in 1932.", "The bridge has a length of 503 m."],
        &[
            "The bridge was built in 1923.",
            "The bridge was built by Thomas Telford.",
            "The bridge is 530 metres long.",
            "The bridge is 503 kilometres long.",
        ],
    ),
    fact(
        "We stopped supporting version 3 in March 2024.",
        &["Version 3 is no longer supported.", "Since March 2024 version 3 has not been supported."],
        &[
            "Version 3 is supported since March 2024.",
            "We stopped supporting version 4 in March 2024.",
            "We stopped supporting version 3 in May 2024.",
            "We stopped supporting version 3 in March 2023.",
        ],
    ),
    fact(
        "Entrance costs nothing for children under six.",
        &["Entrance is free for children under six.", "Children under six do not pay for entrance."],
        &[
            "Entrance costs nothing for children under twelve.",
            "Entrance costs £6 for children under six.",
            "Entrance is free for adults.",
            "Entrance is not free for children under six.",
        ],
    ),
    fact(
        "The dosage is 5 mg twice a day, taken before meals.",
        &["Take 5 mg two times a day before meals.", "Before meals, 5 mg are taken twice daily."],
        &[
            "The dosage is 15 mg twice a day.",
            "The dosage is 5 g twice a day.",
            "The dosage is taken after meals.",
            "The dosage is 5 mg three times a day.",
        ],
    ),
    fact(
        "Never mix bleach with ammonia: the fumes are poisonous.",
        &["Bleach must not be mixed with ammonia.", "Mixing bleach with ammonia gives poisonous fumes."],
        &[
            "Mix bleach with ammonia.",
            "Always mix bleach with ammonia.",
            "The fumes of bleach with ammonia are not poisonous.",
            "Never mix bleach with vinegar.",
        ],
    ),
    fact(
        "Applications are accepted until 15 September.",
        &["You can apply until September 15.", "The deadline for applications is 15 September."],
        &[
            "Applications are accepted until 15 October.",
            "Applications are accepted until 5 September.",
            "Applications are rejected until 15 September.",
            "Applications are not accepted until 15 September.",
        ],
    ),
    fact(
        "The lift carries at most 630 kg or eight people.",
        &["No more than eight people may be in the lift.", "The lift has a maximum load of 630 kg."],
        &[
            "The lift carries at most 360 kg.",
            "The lift carries at most eighteen people.",
            "The lift carries at least 630 kg.",
            "The lift carries 630 t.",
        ],
    ),
    fact(
        "Dr. Amina Yusuf heads the laboratory in Lagos.",
        &["The laboratory in Lagos is headed by Amina Yusuf.", "The head of the Lagos laboratory is Dr. Yusuf."],
        &[
            "Dr. Peter Holm heads the laboratory in Lagos.",
            "Dr. Amina Yusuf heads the laboratory in Nairobi.",
            "Dr. Amina Yusuf does not head the laboratory in Lagos.",
            "Dr. Amina Okoro heads the laboratory in Lagos.",
        ],
    ),
    fact(
        "The river rises in the Harz and flows into the Weser.",
        &["It is in the Harz that the river rises.", "The river flows from the Harz into the Weser."],
        &[
            "The river rises in the Alps.",
            "The river flows into the Elbe.",
            "The river does not flow into the Weser.",
            "The river rises in the Weser and flows into the Harz.",
        ],
    ),
    fact(
        "Batteries are not included and must be bought separately.",
        &["It comes without batteries.", "You have to buy batteries separately."],
        &[
            "Batteries are included.",
            "Batteries need not be bought separately.",
            "Batteries are excluded from recycling.",
            "Batteries are sold together with the device.",
        ],
    ),
    fact(
        "The alarm sounds when the temperature rises above 40 °C.",
        &["Above 40 °C the alarm goes off.", "If the temperature is higher than 40 °C the alarm sounds."],
        &[
            "The alarm sounds when the temperature falls below 40 °C.",
            "The alarm sounds when the temperature rises above 60 °C.",
            "The alarm does not sound above 40 °C.",
            "The alarm stops when the temperature rises above 40 °C.",
        ],
    ),
    fact(
        "Invoices are paid within fourteen days of receipt.",
        &["Invoices must be settled within two weeks of receipt.", "We pay invoices within 14 days."],
        &[
            "Invoices are paid within forty days of receipt.",
            "Invoices are paid within fourteen hours of receipt.",
            "Invoices are not paid within fourteen days.",
            "Invoices are paid within fourteen weeks of receipt.",
        ],
    ),
    fact(
        "Cyclists must wear a helmet on the track.",
        &["On the track a helmet is mandatory for cyclists.", "Cyclists are required to wear helmets on the track."],
        &[
            "Cyclists need not wear a helmet on the track.",
            "Helmets are optional for cyclists on the track.",
            "Cyclists must not wear a helmet on the track.",
            "Cyclists must wear gloves on the track.",
        ],
    ),
    fact(
        "The concert hall has 1,884 seats and was renovated in 2016.",
        &["There are 1884 seats in the concert hall.", "The renovation of the concert hall took place in 2016."],
        &[
            "The concert hall has 1,848 seats.",
            "The concert hall was renovated in 2006.",
            "The concert hall was demolished in 2016.",
            "The concert hall has 1,884 doors.",
        ],
    ),
    fact(
        "Water boils at 100 °C at sea level and at a lower temperature on mountains.",
        &["At sea level the boiling point of water is 100 °C.", "On mountains water boils at a lower temperature."],
        &[
            "Water boils at 90 °C at sea level.",
            "Water boils at a higher temperature on mountains.",
            "Water does not boil at 100 °C at sea level.",
            "Water freezes at 100 °C at sea level.",
        ],
    ),
    fact(
        "The grant covers travel but not accommodation.",
        &["Accommodation is not covered by the grant.", "Travel is paid for by the grant."],
        &[
            "The grant covers accommodation.",
            "The grant does not cover travel.",
            "The grant covers accommodation but not travel.",
            "The grant covers meals.",
        ],
    ),
    fact(
        "Press the green button to start the engine and the red one to stop it.",
        &["The engine is started with the green button.", "To stop the engine, press the red button."],
        &[
            "Press the red button to start the engine.",
            "Press the blue button to start the engine.",
            "Do not press the green button to start the engine.",
            "Press the green button to stop the engine.",
        ],
    ),
    fact(
        "Nadia sold the house to Viktor in 2011.",
        &["Viktor bought the house from Nadia in 2011.", "In 2011 the house was sold to Viktor by Nadia."],
        &[
            "Viktor sold the house to Nadia in 2011.",
            "Nadia sold the house to Viktor in 2012.",
            "Nadia did not sell the house to Viktor.",
            "Nadia sold the car to Viktor in 2011.",
        ],
    ),
    fact(
        "The update takes about twenty minutes, during which the router is offline.",
        &["During the update the router is offline.", "It takes some 20 minutes to update."],
        &[
            "The update takes about two minutes.",
            "During the update the router is online.",
            "The update takes about twenty hours.",
            "The router is not offline during the update.",
        ],
    ),
    fact(
        "Students receive a discount of 30 percent on Tuesdays.",
        &["On Tuesdays students get 30 % off.", "Students pay 30 % less on Tuesdays."],
        &[
            "Students receive a discount of 13 percent on Tuesdays.",
            "Students receive a discount on Thursdays.",
            "Teachers receive a discount of 30 percent on Tuesdays.",
            "Students receive no discount on Tuesdays.",
        ],
    ),
    fact(
        "The ferry to Skye leaves every hour from Mallaig.",
        &["From Mallaig a ferry to Skye leaves hourly.", "There is a ferry from Mallaig to Skye each hour."],
        &[
            "The ferry to Skye leaves every day from Mallaig.",
            "The ferry to Skye leaves every hour from Oban.",
            "The ferry to Mull leaves every hour from Mallaig.",
            "No ferry to Skye leaves from Mallaig.",
        ],
    ),
    fact(
        "Tenants have to give three months' notice in writing.",
        &["Tenants must give notice three months ahead, in writing.", "The notice period for tenants is three months."],
        &[
            "Tenants have to give one month's notice.",
            "Tenants have to give three weeks' notice.",
            "Landlords have to give three months' notice.",
            "Tenants do not have to give notice in writing.",
        ],
    ),
    fact(
        "The satellite weighs 2.3 tonnes and orbits at 700 km.",
        &["The weight of the satellite is 2,300 kg.", "It orbits at a height of 700 km."],
        &[
            "The satellite weighs 3.2 tonnes.",
            "The satellite orbits at 7,000 km.",
            "The satellite weighs 2.3 kg.",
            "The satellite orbits at 700 m.",
        ],
    ),
    fact(
        "Only staff with a badge may enter the archive.",
        &["A badge is needed to enter the archive.", "Staff need a badge to get into the archive."],
        &[
            "Staff without a badge may enter the archive.",
            "Everybody may enter the archive.",
            "Staff with a badge may not enter the archive.",
            "Only visitors with a badge may enter the archive.",
        ],
    ),
    fact(
        "The first edition appeared in 1851 in London; the second in 1853 in New York.",
        &["In 1853 the second edition came out in New York.", "The first edition was published in London in 1851."],
        &[
            "The first edition appeared in 1853.",
            "The second edition appeared in 1851 in London.",
            "The first edition appeared in New York.",
            "The first edition appeared in 1815 in London.",
        ],
    ),
    fact(
        "Store the vaccine between 2 and 8 degrees and never freeze it.",
        &["The vaccine must not be frozen.", "Keep the vaccine at 2 to 8 degrees."],
        &[
            "Freeze the vaccine.",
            "Store the vaccine between 2 and 18 degrees.",
            "The vaccine may be frozen.",
            "Store the vaccine between 12 and 18 degrees.",
        ],
    ),
    fact(
        "Marta Ruiz replaced Jan Kok as chair in May.",
        &["In May Jan Kok was replaced by Marta Ruiz as chair.", "Marta Ruiz has been the chair since May."],
        &[
            "Jan Kok replaced Marta Ruiz as chair in May.",
            "Marta Ruiz replaced Jan Kok as chair in June.",
            "Marta Ruiz replaced Jan Kok as treasurer.",
            "Marta Ruiz replaced Erik Dahl as chair in May.",
        ],
    ),
    fact(
        "The pool is heated from April to October.",
        &["From April until October the pool is heated.", "Heating of the pool runs from April to October."],
        &[
            "The pool is heated from May to October.",
            "The pool is not heated from April to October.",
            "The pool is heated in December.",
            "The pool is cooled from April to October.",
        ],
    ),
    fact(
        "Unemployment fell from 6.1 to 5.4 percent.",
        &["Unemployment went down to 5.4 % from 6.1 %.", "Unemployment dropped from 6.1 to 5.4 percent."],
        &[
            "Unemployment rose from 6.1 to 5.4 percent.",
            "Unemployment fell from 6.1 to 4.5 percent.",
            "Unemployment fell from 5.4 to 6.1 percent.",
            "Unemployment did not fall.",
        ],
    ),
    fact(
        "All packages are inspected; some are opened.",
        &["Every package is inspected.", "Some packages get opened."],
        &[
            "All packages are opened.",
            "Some packages are not inspected.",
            "No packages are opened.",
            "No packages are inspected.",
        ],
    ),
    fact(
        "The tower is taller than the church.",
        &["The church is lower than the tower.", "The tower is higher than the church."],
        &[
            "The church is taller than the tower.",
            "The tower is not taller than the church.",
            "The tower is taller than the castle.",
            "The tower is smaller than the church.",
        ],
    ),
    fact(
        "The contract ends on 31 December 2027 unless it is renewed.",
        &["If not renewed, the contract ends on 31 December 2027.", "The contract runs out on 31 December 2027."],
        &[
            "The contract begins on 31 December 2027.",
            "The contract ends on 30 December 2027.",
            "The contract ends on 31 December 2026.",
            "The contract ends on 31 October 2027.",
        ],
    ),
    fact(
        "Doctors advise against running during the first two weeks after surgery.",
        &[
            "Running is not advised in the first two weeks after surgery.",
            "For two weeks after surgery one should not run, doctors advise.",
        ],
        &[
            "Doctors advise running during the first two weeks after surgery.",
            "Doctors advise against running during the first ten weeks after surgery.",
            "Doctors advise against swimming during the first two weeks after surgery.",
            "Doctors advise against running before surgery.",
        ],
    ),
    fact(
        "The recipe needs 200 g of flour, three eggs and no sugar.",
        &["There is no sugar in the recipe.", "You need three eggs and 200 g of flour for the recipe."],
        &[
            "The recipe needs 250 g of flour.",
            "The recipe needs sugar.",
            "The recipe needs four eggs.",
            "The recipe needs 200 kg of flour.",
        ],
    ),
    fact(
        "The factory in Brno employs 1,200 people, the one in Graz 450.",
        &["1200 people work at the factory in Brno.", "The Graz factory has 450 employees."],
        &[
            "The factory in Graz employs 1,200 people.",
            "The factory in Brno employs 450 people.",
            "The factory in Brno employs 2,100 people.",
            "The factory in Linz employs 450 people.",
        ],
    ),
    fact(
        "Smoking is prohibited in the whole building.",
        &["Smoking is not allowed in the building.", "It is forbidden to smoke in the whole building."],
        &[
            "Smoking is allowed in the building.",
            "Smoking is permitted in the whole building.",
            "Smoking is not prohibited in the building.",
            "Drinking is prohibited in the whole building.",
        ],
    ),
    fact(
        "The signal is sent before the gate opens.",
        &["Before the gate opens, the signal is sent.", "The gate opens after the signal is sent."],
        &[
            "The signal is sent after the gate opens.",
            "The signal is not sent before the gate opens.",
            "The signal is sent before the gate closes.",
            "The letter is sent before the gate opens.",
        ],
    ),
    fact(
        "Each team has eleven players and five substitutes.",
        &["There are eleven players in a team.", "Teams have 11 players and 5 substitutes."],
        &[
            "Each team has twelve players.",
            "Each team has eleven substitutes.",
            "Each team has eleven players and seven substitutes.",
            "Each team has five players.",
        ],
    ),
    fact(
        "The painting hangs in Room 12 on the second floor.",
        &[
            "In Room 12, on the second floor, hangs the painting.",
            "You find the painting on the second floor in Room 12.",
        ],
        &[
            "The painting hangs in Room 21.",
            "The painting hangs on the third floor.",
            "The statue hangs in Room 12.",
            "The painting does not hang in Room 12.",
        ],
    ),
    fact(
        "Turn off the gas before you leave the house.",
        &["Before leaving the house, turn the gas off.", "The gas must be turned off before you leave."],
        &[
            "Turn on the gas before you leave the house.",
            "Turn off the gas after you leave the house.",
            "Do not turn off the gas before you leave the house.",
            "Turn off the water before you leave the house.",
        ],
    ),
    fact(
        "Emma is the older sister of Clara, who lives in Bergen.",
        &["Clara is the younger sister of Emma.", "Clara lives in Bergen."],
        &[
            "Clara is the older sister of Emma.",
            "Clara lives in Oslo.",
            "Clara does not live in Bergen.",
            "Emma is the older sister of Ida.",
        ],
    ),
    fact(
        "The insurance pays 80 % of dental treatment, up to €1,000 a year.",
        &[
            "80 percent of dental treatment is paid by the insurance.",
            "Dental treatment is covered up to 1,000 euros per year.",
        ],
        &[
            "The insurance pays 60 % of dental treatment.",
            "The insurance pays up to €10,000 a year.",
            "The insurance does not pay for dental treatment.",
            "The insurance pays up to €1,000 a month.",
        ],
    ),
    fact(
        "The wolf returned to the valley in 1998, the lynx has not been seen since 1950.",
        &["In 1998 the wolf came back to the valley.", "Since 1950 nobody has seen the lynx."],
        &[
            "The lynx returned to the valley in 1998.",
            "The wolf returned to the valley in 1989.",
            "The wolf has not returned to the valley.",
            "The wolf has not been seen since 1950.",
        ],
    ),
    fact(
        "Guests who arrive after midnight get the key from the porter.",
        &[
            "After midnight the porter gives arriving guests the key.",
            "Guests arriving after midnight receive their key from the porter.",
        ],
        &[
            "Guests who arrive before midnight get the key from the porter.",
            "Guests who arrive after midnight get no key.",
            "Guests who arrive after midnight get the key from the cook.",
            "Guests who arrive after noon get the key from the porter.",
        ],
    ),
];

fn judge(said: &str, claim: &str) -> Verdict {
    let passages = [Passage::of_hit(1, &hit(1, "doc.md", said, said, 0))];
    let checker = Checker::new(&passages, "");
    checker.judge(&checker.claim(claim, Kind::Prose), &[0])
}

#[test]
fn true_ones_stay_and_false_ones_are_flagged() {
    // Unsupported, weak, supported.
    let mut of_true = [0usize; 3];
    let mut of_false = [0usize; 3];
    let mut wrong = Vec::new();
    for fact in &FACTS {
        for claim in fact.truly {
            let verdict = judge(fact.said, claim);
            of_true[verdict.state as usize] += 1;
            if verdict.state == Support::Unsupported {
                wrong.push(format!("thrown away: {claim:?} of {:?}: {:?}", fact.said, verdict.reason));
            }
        }
        for claim in fact.falsely {
            let verdict = judge(fact.said, claim);
            of_false[verdict.state as usize] += 1;
            if verdict.state == Support::Supported {
                wrong.push(format!("let through: {claim:?} of {:?}", fact.said));
            }
        }
    }
    let (all_true, all_false) = (of_true.iter().sum::<usize>(), of_false.iter().sum::<usize>());
    let ([lost, ..], [.., through]) = (of_true, of_false);
    let all = format!("true ones {of_true:?}, false ones {of_false:?}:\n{}", wrong.join("\n"));
    assert!(all_true >= 90 && all_false >= 180, "{all}");
    assert!(lost * 100 <= all_true * 5, "{lost} of {all_true} true ones are thrown away; {all}");
    assert!(through * 100 <= all_false * 5, "{through} of {all_false} false ones come through; {all}");
}
