//! Sentences against passages, each with the verdict it must get.

use super::{Checker, Verdict, best_quote};
use crate::retrieve::{
    Support,
    passages::{Passage, tests::hit},
    sentences::Kind,
};

/// What a verdict must be.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Want {
    Supported,
    Weak,
    Unsupported,
    /// True, in words too far away to be sure of: supported or weak.
    True,
}
use Want::{Supported as S, True as T, Unsupported as U, Weak as W};

fn passage(text: &str, lang: &str) -> Passage {
    let mut hit = hit(1, "doc.md", text, text, 0);
    hit.chunk.lang = Some(lang.into());
    Passage::of_hit(1, &hit)
}

fn judge(lang: &str, texts: &[&str], question: &str, claim: &str) -> Verdict {
    let passages: Vec<Passage> = texts.iter().map(|text| passage(text, lang)).collect();
    let all: Vec<usize> = (0..passages.len()).collect();
    said(&Checker::new(&passages, question), claim, Kind::Prose, &all)
}

/// Judges a sentence given as text.
fn said(checker: &Checker, claim: &str, kind: Kind, cited: &[usize]) -> Verdict {
    checker.judge(&checker.claim(claim, kind), cited)
}

fn check(cases: &[(&str, &str, &str, Want)]) {
    let mut wrong = Vec::new();
    for (lang, text, claim, want) in cases {
        let got = judge(lang, &[text], "", claim);
        let right = match want {
            S => got.state == Support::Supported,
            W => got.state == Support::Weak,
            U => got.state == Support::Unsupported,
            T => got.state != Support::Unsupported,
        };
        assert_eq!(got.reason.is_none(), got.state == Support::Supported, "{claim}: {got:?}");
        if !right {
            wrong.push(format!("{want:?} wanted: {claim:?}\n   in {text:?}\n   got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

const COLONY: &str = "The Moon colony was founded by three nations. Its name has not been decided yet.";
const OFFICE: &str = "The head office opened in 1987 in Leeds. It is closed on Sundays and public holidays.";
const CART: &str = "The cart has three wheels and two doors. It weighs 40 kg.";
const PROXY: &str = "The proxy never caches tool calls. Completions are kept for 168h, then they are dropped.";
const STAFF: &str = "Staff are entitled to twenty-five days of paid leave per year. Unused days expire on 31 March.";
const PLANS: &str = "The Basic plan costs $10 per month, the Pro plan costs $20 and the Enterprise plan costs $50.";
const TABLE: &str = "| Plan | Price | Users |\n|---|---|---|\n| Basic | $10 | 3 |\n| Pro | $20 | 10 |";
const REFUND: &str = "Refunds are possible within 30 days of purchase, but not for gift cards. You need a receipt.";
const TEAM: &str = "Alice Carter manages the Berlin team. Tom leads support in Lisbon.";

#[test]
fn eleven_from_the_prototype() {
    check(&[
        ("en", COLONY, "The capital of the Moon colony is New Eden.", U),
        ("en", OFFICE, "The head office opened on Sunday in 1978.", U),
        ("en", CART, "The cart has two wheels.", U),
        ("en", PROXY, "The proxy caches tool calls.", U),
        ("en", STAFF, "Employees have 30 days of paid leave.", U),
        ("en", PROXY, "Completions are kept for 168 hours.", S),
        ("en", STAFF, "Employees get 25 days of paid leave per year.", S),
        ("en", CART, "The cart has three wheels.", S),
        ("en", PROXY, "The proxy does not cache tool calls.", S),
        ("en", OFFICE, "The office opened in 1987.", S),
        ("en", OFFICE, "The head office is closed on Sundays.", S),
    ]);
}

#[test]
fn numbers_and_units() {
    check(&[
        ("en", PROXY, "Completions are kept for 7 days.", S),
        ("en", PROXY, "Completions are kept for 168 minutes.", U),
        ("en", PROXY, "Completions are kept for one week.", S),
        ("en", STAFF, "Unused days expire on March 31.", S),
        ("en", STAFF, "Unused days expire on April 30.", U),
        ("en", CART, "The cart weighs 40 kilograms.", S),
        ("en", CART, "The cart weighs 40 pounds of steel.", T),
        ("en", CART, "The cart weighs 40 g.", U),
        ("en", CART, "The cart has two doors.", S),
        ("en", CART, "The cart has three doors.", U),
        ("en", "The limit is 10,000 requests per minute.", "The limit is 10000 requests per minute.", S),
        ("en", "The limit is 10,000 requests per minute.", "The limit is ten thousand requests per minute.", S),
        ("en", "The limit is 10,000 requests per minute.", "The limit is 1,000 requests per minute.", U),
        ("en", "Sales rose by 4.5 percent to $1.2 million.", "Sales rose by 4.5 % to $1,200,000.", S),
        ("en", "Sales rose by 4.5 percent to $1.2 million.", "Sales rose by 5.4 % to $1.2 million.", U),
        ("en", "Sales rose by 4.5 percent to $1.2 million.", "Sales rose by 4.5 % to €1.2 million.", U),
        ("en", "The shop is open from 9 am to 5:30 pm.", "The shop is open from 9:00 to 17:30.", S),
        ("en", "The shop is open from 9 am to 5:30 pm.", "The shop is open until 6:30 pm.", U),
        ("en", "The shop is open Monday to Friday.", "The shop is open on Wednesday.", S),
        ("en", "The shop is open Monday to Friday.", "The shop is open on Saturday.", U),
        ("en", "Version 2.4.1 fixed the crash on start-up.", "The crash on start-up was fixed in version 2.4.2.", U),
        ("en", "Version 2.4.1 fixed the crash on start-up.", "Version 2.4.1 fixed the crash on start-up.", S),
        ("en", "The meeting is on 2024-03-12.", "The meeting is on 12 March 2024.", S),
        ("en", "The meeting is on 2024-03-12.", "The meeting is on 12 March 2025.", U),
        ("en", "Passwords must have at least 12 characters.", "Passwords may have at most 12 characters.", U),
        ("en", "Passwords must have at least 12 characters.", "Passwords must have at least twelve characters.", S),
        (
            "en",
            "You can return it up to 30 days after delivery.",
            "It can be returned up to 30 days after delivery.",
            S,
        ),
    ]);
}

#[test]
fn numbers_of_something_else() {
    check(&[
        ("en", PLANS, "The Pro plan costs $20.", S),
        ("en", PLANS, "The Pro plan costs $10.", U),
        ("en", PLANS, "Basic costs $10 and Enterprise costs $50 per month.", S),
        ("en", PLANS, "The Basic plan costs $50 and the Enterprise plan costs $10.", U),
        ("en", TABLE, "The Pro plan costs $20.", S),
        ("en", TABLE, "The Pro plan costs $10.", U),
        ("en", TABLE, "The Basic plan is for 3 users.", S),
        ("en", "Basic and Pro cost $10 and $20 respectively.", "Pro costs $20.", S),
        (
            "en",
            "The Pro plan is our most popular. It costs $20. The Basic plan costs $10.",
            "The Pro plan costs $20.",
            S,
        ),
        ("en", "Between 10 and 20 people attend.", "Between 10 and 20 people attend.", S),
        ("en", "In 2021 revenue was $5 million. In 2022 revenue was $7 million.", "Revenue in 2022 was $7 million.", S),
        ("en", "In 2021 revenue was $5 million. In 2022 revenue was $7 million.", "Revenue in 2022 was $5 million.", U),
    ]);
}

#[test]
fn names() {
    check(&[
        ("en", TEAM, "The Berlin team is managed by Alice Carter.", S),
        ("en", TEAM, "The Berlin team is managed by Bob Carter.", U),
        ("en", TEAM, "Alice Carter manages the Paris team.", U),
        ("en", TEAM, "Sarah leads support in Lisbon.", U),
        ("en", TEAM, "Tom leads support in Lisbon.", S),
        ("en", "Alice trained Bob in 2019.", "Bob trained Alice in 2019.", U),
        ("en", "Alice trained Bob in 2019.", "Bob was trained by Alice in 2019.", S),
        ("en", "Ask HR for the leave form.", "The leave form comes from Human Resources.", T),
        ("en", "The Human Resources office has the leave form.", "The HR office has the leave form.", S),
        ("en", "It runs on GitHub and GitLab.", "It runs on Github.", S),
        ("en", "It runs on GitHub and GitLab.", "It runs on Bitbucket.", U),
        ("en", "The office of Acme is in Leeds.", "Acme's office is in Leeds.", S),
    ]);
}

#[test]
fn negations_and_opposites() {
    check(&[
        ("en", REFUND, "Refunds are possible within 30 days of purchase.", S),
        ("en", REFUND, "Refunds are possible for gift cards.", U),
        ("en", REFUND, "Refunds are not possible for gift cards.", T),
        ("en", REFUND, "Refunds are not possible within 30 days of purchase.", U),
        ("en", "The export function is available on all plans.", "The export function is unavailable on all plans.", U),
        ("en", "The export function is not available offline.", "The export function is available offline.", U),
        ("en", "The export function is no longer available.", "The export function is available.", U),
        ("en", "The library is open on Saturdays.", "The library is closed on Saturdays.", U),
        ("en", "Uploading is allowed for members.", "Uploading is prohibited for members.", U),
        ("en", "Prices increased in 2023.", "Prices decreased in 2023.", U),
        ("en", "Backups run before midnight at 23:00.", "Backups run at 23:00.", S),
        ("en", "Some employees may work from home.", "All employees may work from home.", U),
        ("en", "All employees may work from home.", "Employees may work from home.", S),
        ("en", "The file is not only small but also fast to read.", "The file is small and fast to read.", S),
        ("en", "Orders arrive no later than Monday.", "Orders arrive by Monday.", S),
        ("en", "Neither email nor phone support is included.", "Email support is included.", U),
        ("en", "The cache cannot be disabled.", "The cache can be disabled.", U),
        ("en", "The proxy never caches tool calls. It caches completions.", "The proxy caches completions.", S),
    ]);
}

#[test]
fn paraphrases_and_other_matters() {
    check(&[
        ("en", STAFF, "Paid leave amounts to twenty-five days a year for staff.", S),
        (
            "en",
            "To reset the device, hold the power button for ten seconds.",
            "Hold the power button for 10 seconds to reset the device.",
            S,
        ),
        (
            "en",
            "To reset the device, hold the power button for ten seconds.",
            "Resetting the device is done by holding its power button.",
            S,
        ),
        ("en", "Invoices are sent by email on the first of each month.", "Customers receive their bill by mail.", U),
        ("en", "Invoices are sent by email on the first of each month.", "Invoices go out by email each month.", S),
        (
            "en",
            "The warranty covers defects in material and workmanship.",
            "The warranty covers material defects, theft and accidental damage.",
            W,
        ),
        (
            "en",
            "The warranty covers defects in material and workmanship.",
            "Water damage voids your insurance policy.",
            U,
        ),
        ("en", OFFICE, "It has a large garden with old trees.", U),
        ("en", OFFICE, "Yes.", W),
        ("en", OFFICE, "1987.", W),
    ]);
}

#[test]
fn quotations() {
    check(&[
        ("en", REFUND, "The policy says \"Refunds are possible within 30 days\" of purchase.", S),
        (
            "en",
            REFUND,
            "The policy says “refunds are   possible within 30 days of purchase, but not for gift cards.”",
            S,
        ),
        ("en", REFUND, "The policy says \"Refunds are always possible within 30 days\" of purchase.", U),
        ("en", REFUND, "The policy says \"Refunds are possible … but not for gift cards\".", S),
        ("en", REFUND, "The \"gift cards\" have refunds not possible.", T),
    ]);
}

#[test]
fn other_languages() {
    check(&[
        (
            "de",
            "Mitarbeiter haben fünfundzwanzig Tage Urlaub im Jahr.",
            "Die Mitarbeiter haben 25 Tage Jahresurlaub.",
            S,
        ),
        ("de", "Mitarbeiter haben fünfundzwanzig Tage Urlaub im Jahr.", "Die Mitarbeiter haben 30 Tage Urlaub.", U),
        ("de", "Das Büro ist sonntags nicht geöffnet.", "Das Büro ist sonntags geöffnet.", U),
        ("de", "Das Büro ist sonntags nicht geöffnet.", "Sonntags ist das Büro nicht geöffnet.", S),
        (
            "de",
            "Die Rückgabe ist innerhalb von 14 Tagen möglich.",
            "Rückgaben sind innerhalb von zwei Wochen möglich.",
            S,
        ),
        ("de", "Der Preis beträgt 1.250,50 Euro.", "Der Preis ist 1250,50 €.", S),
        ("de", "Der Preis beträgt 1.250,50 Euro.", "Der Preis ist 1350,50 €.", U),
        (
            "es",
            "Los empleados tienen veinticinco días de vacaciones al año.",
            "Los empleados tienen 25 días de vacaciones.",
            S,
        ),
        (
            "es",
            "Los empleados tienen veinticinco días de vacaciones al año.",
            "Los empleados tienen 35 días de vacaciones.",
            U,
        ),
        ("es", "La tienda no acepta tarjetas de crédito.", "La tienda acepta tarjetas de crédito.", U),
        ("es", "La tienda abre el 12 de marzo de 2024.", "La tienda abre el 12/03/2024.", S),
        ("zh", "员工每年有二十五天带薪年假。", "员工每年有25天带薪年假。", S),
        ("zh", "员工每年有二十五天带薪年假。", "员工每年有30天带薪年假。", U),
        ("zh", "代理服务器不缓存工具调用。", "代理服务器缓存工具调用。", U),
        ("zh", "代理服务器不缓存工具调用。", "代理服务器不缓存工具调用。", S),
        ("fr", "Le bureau est ouvert du lundi au vendredi.", "Le bureau est ouvert le mardi.", S),
        ("ru", "Офис открыт с понедельника по пятницу с 9:00.", "Офис открыт с 9:00.", S),
        ("ru", "Офис открыт с понедельника по пятницу с 9:00.", "Офис открыт с 8:00.", U),
    ]);
}

#[test]
fn passages_are_taken_together() {
    let passages = ["The Pro plan costs $20.", "Support answers within 4 hours."];
    let claim = "The Pro plan costs $20 and support answers within 4 hours.";
    assert_eq!(judge("en", &passages, "", claim).state, Support::Supported);
    assert_eq!(judge("en", &passages[..1], "", claim).state, Support::Unsupported);
    let none = said(&Checker::new(&[], ""), claim, Kind::Prose, &[]);
    assert_eq!(none.state, Support::Unsupported);
}

#[test]
fn a_bare_answer_is_read_with_its_question() {
    let asked = |claim: &str| judge("en", &[STAFF], "How many days of paid leave are staff entitled to?", claim).state;
    assert_eq!(asked("25 days."), Support::Supported);
    assert_eq!(asked("25"), Support::Supported);
    assert_eq!(asked("30 days."), Support::Unsupported);
}

#[test]
fn a_name_of_the_question_makes_a_sentence_weak() {
    let verdict = judge(
        "en",
        &["The proxy caches completions."],
        "What does the Zephyr proxy cache?",
        "The Zephyr proxy caches completions.",
    );
    assert_eq!(verdict.state, Support::Weak);
    assert_eq!(verdict.reason.as_deref(), Some("`Zephyr` is in the question, not in the passage"));
}

#[test]
fn headings_titles_and_headers_count() {
    let text = "Costs $20 per month.";
    let mut found = hit(1, "doc.md", text, text, 0);
    found.chunk.heading = vec!["Pricing".into(), "Pro plan".into()];
    let passages = [Passage::of_hit(1, &found)];
    let verdict = said(&Checker::new(&passages, ""), "The Pro plan costs $20 per month.", Kind::Prose, &[0]);
    assert_eq!(verdict.state, Support::Supported);
    let rows = "Pro,20,10\nBasic,10,3";
    let mut found = hit(1, "plans.csv", rows, rows, 0);
    found.chunk.context = "plan,price in USD,users\n".into();
    let passages = [Passage::of_hit(1, &found)];
    let state = |claim: &str| said(&Checker::new(&passages, ""), claim, Kind::Prose, &[0]).state;
    assert_eq!(state("The Pro plan has a price of $20."), Support::Supported);
    assert_eq!(state("The Basic plan has a price of $20."), Support::Unsupported);
}

/// A passage joined of the sections of a page, its headings bare lines as extraction leaves them: for each section the
/// heading path and the text.
fn page(title: &str, sections: &[(&[&str], &str)]) -> Passage {
    let texts: Vec<&str> = sections.iter().map(|(_, text)| *text).collect();
    let document = texts.join("\n\n");
    let mut hits: Vec<_> = (0..).zip(&texts).map(|(at, text)| hit(1, "page.html", &document, text, at)).collect();
    for (hit, (heading, _)) in hits.iter_mut().zip(sections) {
        hit.chunk.title = Some(title.into());
        hit.chunk.heading = heading.iter().map(|heading| (*heading).to_owned()).collect();
    }
    let mut whole = Passage::of_hit(1, &hits[0]);
    for pair in hits.windows(2) {
        let mut from = pair[0].clone();
        from.after = vec![pair[1].chunk.clone()];
        whole = whole.continued(&from);
    }
    assert_eq!(whole.text, document);
    whole
}

fn faq() -> Passage {
    const TOP: &str = "Questions and answers";
    page(
        "Brightwater Pumps: questions and answers",
        &[
            (&[TOP], "Questions and answers\n\nIf your question is not here, write to help@brightwater.example."),
            (
                &[TOP, "Orders and delivery", "How long does delivery take?"],
                "Orders and delivery\n\nHow long does delivery take?\n\nOrders placed before noon leave our warehouse the \
                 same day. Delivery takes two to three working days within the United Kingdom and five to seven working \
                 days to the rest of Europe.",
            ),
            (
                &[TOP, "Orders and delivery", "What does delivery cost?"],
                "What does delivery cost?\n\nDelivery is free from £80. Below that it costs £4.90 in the United Kingdom \
                 and £11.50 elsewhere in Europe.",
            ),
            (
                &[TOP, "Returns and refunds", "How are refunds handled?"],
                "Returns and refunds\n\nHow are refunds handled?\n\nYou may send back any pump within 30 days, used or \
                 not. Refunds are paid to the card you ordered with within five working days of the parcel's arrival. \
                 Return postage is ours if the pump is faulty, and yours otherwise.",
            ),
            (
                &[TOP, "Returns and refunds", "Can I return a spare part?"],
                "Can I return a spare part?\n\nSpare parts can be returned within 14 days if their bag is unopened.",
            ),
            (
                &[TOP, "Repairs", "Where can I have my pump repaired?"],
                "Repairs\n\nWhere can I have my pump repaired?\n\nService partners are in Falmouth, Leeds, Ghent and \
                 Rostock. A repair takes eight working days on average.\n\n| Repair | Price | Days |\n| --- | --- | --- \
                 |\n| New shaft seal | £29 | 4 |\n| New cable | £34 | 5 |\n| New motor | £118 | 10 |",
            ),
        ],
    )
}

/// A handbook with `#` headings in one chunk.
const HANDBOOK: &str = "# Handbook\n\n## Annual leave\n\nFull-time staff get 28 days of leave. Requests go to the line \
    manager. Ten days can be carried over to the next year.\n\n## Sick leave\n\nSick pay lasts for six weeks. After \
    that a doctor in Leeds decides. A certificate is due on the third day.\n\n## Travel\n\nHotels may cost up to £120 a \
    night. Trains are booked by Harrow Travel. Receipts are due by 15 March 2025.";

#[test]
fn facts_of_another_section() {
    let pages = [faq(), passage(HANDBOOK, "en")];
    let checker = Checker::new(&pages, "");
    let mut wrong = Vec::new();
    for (at, claim, supported) in [
        (0, "Refunds take two to three working days.", false),
        (0, "Refunds are paid within five to seven working days.", false),
        (0, "Refunds cost £11.50.", false),
        (0, "Refunds are free from £80.", false),
        (0, "A refund is paid in Falmouth.", false),
        // Facts of two sections swapped.
        (0, "Refunds usually take two to three working days within the United Kingdom.", false),
        (0, "Within the United Kingdom, refunds take two to three working days.", false),
        (0, "Falmouth pays refunds.", false),
        (0, "Spare parts can be returned within 30 days.", false),
        (0, "You may send back any pump within 14 days.", false),
        (0, "Delivery takes eight working days on average.", false),
        (0, "A repair takes two to three working days.", false),
        (0, "Repairs are free from £80.", false),
        (0, "Return postage costs £4.90 in the United Kingdom.", false),
        (1, "Sick pay lasts for 28 days.", false),
        (1, "Annual leave requests go to a doctor in Leeds.", false),
        (1, "Full-time staff get six weeks of leave.", false),
        (1, "Certificates are due by 15 March 2025.", false),
        (1, "Sick leave is booked by Harrow Travel.", false),
        (1, "Up to £120 can be carried over to the next year.", false),
        // Rows and columns of a table swapped.
        (0, "A new shaft seal costs £34.", false),
        (0, "A new cable costs £118 and a new motor costs £34.", false),
        (0, "A new motor takes 4 days.", false),
        (0, "The price of a new cable is £29.", false),
        // Numbers of the section's other sentence, and of sections alike.
        (0, "A refund takes five to seven working days.", false),
        (0, "Refunds are paid within 30 days.", false),
        (0, "A pump costs £118.", false),
        (0, "Return postage is £11.50.", false),
        (1, "A certificate is due after six weeks.", false),
        (1, "Ten days of sick leave can be carried over.", false),
        // No fact, and words of many places.
        (0, "Pumps in an unopened bag leave the warehouse on average before noon.", false),
        // True.
        (0, "Refunds are paid within five working days.", true),
        (0, "Refunds are paid to the card within five working days of arrival.", true),
        (0, "Delivery takes two to three working days within the United Kingdom.", true),
        (0, "Delivery to the rest of Europe takes five to seven working days.", true),
        (0, "Delivery is free from £80.", true),
        (0, "Delivery below £80 costs £4.90 in the United Kingdom.", true),
        (0, "Any pump can be sent back within 30 days.", true),
        (0, "Spare parts can be returned within 14 days.", true),
        (0, "Repairs are done by service partners in Falmouth, Leeds, Ghent and Rostock.", true),
        (0, "A repair takes eight working days on average.", true),
        (0, "A new shaft seal costs £29.", true),
        (0, "A new motor costs £118 and a new cable costs £34.", true),
        (0, "The repair of a new motor takes 10 days.", true),
        (0, "Delivery is free from £80 and a repair takes eight working days.", true),
        (1, "Full-time staff get 28 days of annual leave.", true),
        (1, "Sick pay lasts for six weeks, after which a doctor in Leeds decides.", true),
        (1, "Ten days of annual leave can be carried over.", true),
        (1, "Travel receipts are due by 15 March 2025.", true),
        (0, "Replacing the shaft seal takes 4 days.", true),
        (0, "Brightwater Pumps pays refunds within five working days.", true),
        (0, "Delivery costs £4.90 in the United Kingdom and £11.50 elsewhere in Europe.", true),
        (1, "The limit for hotels is £120 a night.", true),
        // True by two neighbouring sentences.
        (0, "Refunds of a pump sent back within 30 days are paid to the card.", true),
        (
            0,
            "Orders placed before noon leave the same day, and delivery within the United Kingdom takes two to three days.",
            true,
        ),
        (1, "Trains are booked by Harrow Travel and hotels may cost up to £120.", true),
    ] {
        let got = said(&checker, claim, Kind::Prose, &[at]);
        if (got.state == Support::Supported) != supported {
            wrong.push(format!("{claim} {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn words_of_a_heading_are_of_what_is_below_it() {
    let text = "# Pro plan\n\nIt costs $20.\n\n# Basic plan\n\nSupport is by email.";
    assert_eq!(judge("en", &[text], "", "The Pro plan costs $20.").state, Support::Supported);
    assert_eq!(judge("en", &[text], "", "Support of the Basic plan is by email.").state, Support::Supported);
    assert_ne!(judge("en", &[text], "", "The Basic plan costs $20.").state, Support::Supported);
}

#[test]
fn a_fact_of_something_else_is_named_with_its_place() {
    let pages = [faq()];
    let checker = Checker::new(&pages, "");
    for (claim, reason) in [
        ("Refunds are free from £80.", "the passage has `£80` in \"Delivery is free from £80.\", apart from `Refunds`"),
        (
            "A refund is paid in Falmouth.",
            "the passage has `Falmouth` in \"Service partners are in Falmouth, Leeds, Ghent and Rostock.\", apart from `refund`",
        ),
    ] {
        assert_eq!(said(&checker, claim, Kind::Prose, &[0]).reason.as_deref(), Some(reason));
    }
}

#[test]
fn a_quote_is_the_sentence_with_all_the_words() {
    let pages = [faq()];
    let checker = Checker::new(&pages, "");
    for (claim, start) in [
        ("Refunds are paid within five working days.", "Refunds are paid to the card"),
        ("Delivery takes two to three working days.", "Delivery takes two to three"),
        ("Delivery costs £4.90.", "Below that it costs £4.90"),
        ("Delivery is free.", "Delivery is free from £80."),
        ("A new cable costs £34.", "| New cable"),
    ] {
        let (quote, span) = best_quote(&checker, &checker.claim(claim, Kind::Prose), 0).unwrap();
        assert!(quote.starts_with(start), "{claim}: {quote}");
        assert_eq!(pages[0].text[span.range()], quote);
    }
}

#[test]
fn code_must_stand_in_the_passage() {
    let passages = [passage("Run this:\n```\nrag ingest docs\nrag  ask \"x\"\n```", "en")];
    let state = |code: &str| said(&Checker::new(&passages, ""), code, Kind::Code, &[0]).state;
    assert_eq!(state("```sh\nrag ingest docs\n```"), Support::Supported);
    assert_eq!(state("```sh\nrm -rf docs\n```"), Support::Unsupported);
}

#[test]
fn reasons_are_for_people() {
    for (text, claim, reason) in [
        (OFFICE, "The office opened in 1978.", "`1978` is not in the passage"),
        (PLANS, "The Pro plan costs $10.", "the passage has `$20` where the answer has `$10`"),
        (PROXY, "The proxy caches tool calls.", "`caches` is negated in the passage"),
        (TEAM, "Alice Carter manages the Paris team.", "`Paris` is not in the passage"),
        (OFFICE, "It has a garden with trees.", "0 % of its words are in the passage"),
        ("The library is open.", "The library is closed.", "the passage says `open`, the answer `closed`"),
    ] {
        assert_eq!(judge("en", &[text], "", claim).reason.as_deref(), Some(reason), "{claim}");
    }
}

#[test]
fn quotes_are_exact_and_of_the_right_length() {
    let long = format!(
        "{}The office opened in 1987 in Leeds, {}and so on.",
        "First there was nothing at all here. ".repeat(20),
        "with many words after it, ".repeat(20)
    );
    for (text, claim, part) in [
        (OFFICE, "The office opened in 1987.", "opened in 1987"),
        (long.as_str(), "The office opened in 1987.", "opened in 1987"),
        (STAFF, "Unused days expire on March 31.", "expire on 31 March"),
        ("员工每年有二十五天带薪年假。其他规定见手册。", "员工有25天年假", "二十五天"),
        (TABLE, "Pro costs $20", "| Pro | $20 | 10 |"),
        ("x", "nothing", "x"),
    ] {
        let passages = [passage(text, "en")];
        let checker = Checker::new(&passages, "");
        let (quote, span) = best_quote(&checker, &checker.claim(claim, Kind::Prose), 0).unwrap();
        assert_eq!(&text[span.range()], quote);
        assert!(quote.contains(part), "{quote:?} should have {part:?}");
        use unicode_segmentation::UnicodeSegmentation;
        assert!(quote.unicode_words().count() <= 50, "{quote}");
    }
}

const MATERIALS: &str = "The pump is cooled by water. The controller is made of steel. Alice works in the Berlin office. Bob \
    works in the Paris office.";
const RESULTS: &str = "Revenue rose 5 % and costs fell 3 %.";

/// The first chunk of a file of rows has its header in the text, not above it.
#[test]
fn rows_and_records_stand_for_themselves() {
    let of = |path: &str, text: &str| Passage::of_hit(1, &hit(1, path, text, text, 0));
    let rows = [of("plans.csv", "plan,price in USD,users\nPro,20,10\nBasic,10,3")];
    let checker = Checker::new(&rows, "");
    let state = |claim: &str| said(&checker, claim, Kind::Prose, &[0]).state;
    assert_eq!(state("The Pro plan has a price of $20."), Support::Supported);
    assert_eq!(state("The Basic plan has a price of $20."), Support::Unsupported);
    let text =
        "id: 1\nproduct: Otter\ntext: Hums. Cause: a leaf.\n\nid: 2\nproduct: Heron\ntext: Leaks. Cause: a valve.";
    let units: Vec<String> =
        super::units_of(&of("a.jsonl", text)).into_iter().map(|unit| text[unit.range].to_owned()).collect();
    assert_eq!(units, text.split("\n\n").collect::<Vec<_>>());
}

#[test]
fn halves_and_neighbours_are_not_mixed_up() {
    check(&[
        ("en", "Globex acquired Initech in May.", "Initech acquired Globex in May.", U),
        ("en", "Globex acquired Initech in May.", "Globex acquired Initech in May.", S),
        ("en", "Globex acquired Initech in May.", "Initech was acquired by Globex in May.", S),
        ("en", "The server calls the client twice a day.", "The client calls the server twice a day.", W),
        ("en", "The server calls the client twice a day.", "Twice a day the server calls the client.", S),
        ("en", "Dogs chase cats in the garden.", "Cats chase dogs in the garden.", W),
        ("en", "Dogs chase cats in the garden.", "In the garden, dogs chase cats.", S),
        ("en", "Dogs chase cats in the garden.", "Cats are chased by dogs in the garden.", S),
        ("en", "Dogs chase cats in the garden.", "Dogs are chased by cats in the garden.", W),
        ("en", "The pump of the boat controller is new.", "The controller pump of the boat is new.", S),
        ("en", "Boots, helmets and gloves are kept in the shed.", "Gloves, helmets and boots are kept in the shed.", S),
        ("en", RESULTS, "Revenue fell 3 % and costs rose 5 %.", U),
        ("en", RESULTS, "Revenue rose 3 % and costs fell 5 %.", U),
        ("en", RESULTS, "Costs rose 5 %.", U),
        ("en", RESULTS, "Revenue fell 3 %.", U),
        ("en", RESULTS, "Revenue rose 5 % and costs fell 3 %.", S),
        ("en", RESULTS, "Costs fell 3 % and revenue rose 5 %.", S),
        ("en", RESULTS, "Costs fell 3 %.", S),
        ("en", "Revenue rose 5 % in Europe and fell 3 % in Asia.", "Revenue fell 3 % in Asia.", S),
        ("en", "Revenue rose 5 % in 2023 and 3 % in 2024.", "Revenue rose 3 % in 2024.", S),
        ("en", MATERIALS, "The pump is made of steel.", W),
        ("en", MATERIALS, "The controller is cooled by water.", W),
        ("en", MATERIALS, "The controller is made of steel.", S),
        ("en", MATERIALS, "Bob works in the Paris office.", S),
        ("en", MATERIALS, "Alice works in the Paris office.", W),
        ("en", "The Mole is small. It runs on batteries.", "The Mole runs on batteries.", S),
    ]);
}

#[test]
fn a_word_of_no_passage_makes_a_sentence_weak() {
    const BAR: &str = "The canteen serves coffee and cake from eight to ten. The north wing is cleaned by a robot.";
    check(&[
        ("en", BAR, "The canteen serves tea and cake.", W),
        ("en", BAR, "The canteen serves coffee and cake.", S),
        ("en", BAR, "The canteen serves coffee and soup from eight to ten.", W),
        ("en", BAR, "The north wing is cleaned by a janitor.", W),
        ("en", BAR, "The robot cleans the north wing.", S),
        ("en", "Wash the strainer with soap after each use.", "Wash the strainer with vinegar after each use.", W),
        ("en", "The housing is made of cast iron.", "The housing is made of cast bronze.", W),
        ("en", REFUND, "Refunds are possible within 30 days of delivery.", W),
        // The same in other words.
        ("en", "The fee is paid by the buyer.", "The buyer pays the fee.", T),
        ("en", "Spare parts were sent back in March.", "In March spare parts were returned.", T),
        ("en", "Invoices are sent on Mondays.", "Bills are sent on Mondays.", T),
        ("en", "The board decides on purchases.", "Purchases are a decision of the board.", T),
        ("de", "Die Kantine serviert Kaffee und Kuchen.", "Die Kantine serviert Tee und Kuchen.", W),
        ("de", "Die Kantine serviert Kaffee und Kuchen.", "In der Kantine wird Kuchen und Kaffee serviert.", T),
    ]);
}

#[test]
fn a_word_of_a_heading_further_up_supports_nothing() {
    let text = "Spare parts are accepted if their bag is unopened.";
    let mut found = hit(1, "doc.md", text, text, 0);
    found.chunk.title = Some("Questions".into());
    found.chunk.heading = vec!["Questions".into(), "Refunds and exchanges".into(), "Spare parts".into()];
    let passages = [Passage::of_hit(1, &found)];
    let checker = Checker::new(&passages, "");
    let state = |claim: &str| said(&checker, claim, Kind::Prose, &[0]).state;
    assert_eq!(state("Refunds are accepted if their bag is unopened."), Support::Weak);
    assert_eq!(state("Spare parts are accepted if the bag is unopened."), Support::Supported);
}

/// What a reader takes for true must not be called false, and not all of it doubtful.
#[test]
fn true_paraphrases_are_not_thrown_away() {
    // A sentence, and ways to say it that a reader takes for the same.
    const PARAPHRASES: &[(&str, &str)] = &[
        ("Everybody has 27 days of paid leave a year.", "Employees get 27 days of paid vacation per year."),
        (
            "Up to five days may be carried into the next year.",
            "You can carry over up to five days to the following year.",
        ),
        ("A doctor's note is needed from the fourth day on.", "From day four a medical certificate is required."),
        ("Claims go into the expense tool within 30 days.", "Expense claims must be filed within 30 days."),
        ("Trains are booked second class.", "Train travel is in second class."),
        ("Visitors sign in at the front desk.", "Visitors must register at the front desk."),
        ("Photographs of the test tank are not allowed.", "Taking photos of the test tank is not allowed."),
        ("The warranty is 36 months from the day of purchase.", "The warranty lasts 36 months from purchase."),
        ("Never lift it by the cable.", "It must never be lifted by its cable."),
        ("Clean the intake strainer once a month.", "The intake strainer should be cleaned monthly."),
        ("The support rota changes every Monday at nine.", "Every Monday at 9:00 the support rota changes."),
        ("Lost cards are reported to the bank at once.", "Report a lost card to the bank immediately."),
        ("Flights need the approval of the finance lead.", "Flights must be approved by the finance lead."),
        ("The pump runs on 230 V at 50 Hz.", "The pump needs 230 V at 50 Hz."),
        (
            "Parental leave may be split into at most three parts.",
            "You may split parental leave into three parts at most.",
        ),
        ("Old pumps do not go into household waste.", "Old pumps must not be thrown into household waste."),
        ("We stop selling the Mole 12 V in 2027.", "The Mole 12 V will not be sold after 2027."),
        ("Passwords live in the password manager.", "Passwords are kept in the password manager."),
        ("It restarts by itself after 10 minutes.", "It restarts automatically after 10 minutes."),
        ("Delivery is free from £80.", "Delivery costs nothing from £80."),
    ];
    let mut counts = [0; 3];
    let mut lost = Vec::new();
    for (text, claim) in PARAPHRASES {
        let verdict = judge("en", &[text], "", claim);
        counts[verdict.state as usize] += 1;
        if verdict.state == Support::Unsupported {
            lost.push(format!("{claim:?} of {text:?}: {:?}", verdict.reason));
        }
    }
    let [unsupported, weak, supported] = counts;
    assert!(
        unsupported <= MOST_LOST && supported >= LEAST_SUPPORTED,
        "{supported} supported, {weak} weak, {unsupported} unsupported:\n{}",
        lost.join("\n")
    );
}

/// Of twenty. Measured: 2 unsupported, with hardly a word of what they say; 8 supported, the others weak.
const MOST_LOST: usize = 2;
const LEAST_SUPPORTED: usize = 8;

proptest::proptest! {
    #[test]
    fn any_claim_against_any_passage(text in "\\PC{1,120}", claim in "\\PC{0,80}", lang in "(en|de|zh|es)") {
        let passages = [passage(&text, &lang)];
        let checker = Checker::new(&passages, "a question?");
        let verdict = said(&checker, &claim, Kind::Prose, &[0]);
        assert!((0.0..=1.0).contains(&verdict.score));
        if let Some((quote, span)) = best_quote(&checker, &checker.claim(&claim, Kind::Prose), 0) {
            assert_eq!(&text[span.range()], quote);
        }
    }

    #[test]
    fn a_sentence_supports_itself(words in proptest::collection::vec("(the|server|keeps|logs|days|cache|12|users|restart|Berlin|plan|never)", 3..12)) {
        let sentence = format!("The system {}.", words.join(" "));
        let verdict = judge("en", &[&sentence], "", &sentence);
        assert_eq!(verdict.state, Support::Supported, "{sentence} {verdict:?}");
    }
}
