// How the search weighs what it finds: as Sphinx does, but a page that explains a word
// comes before the glossary, and both before the pages about papers and the code.
const PROJECT = /^(papers|errata|architecture|where_is|project)/;

var Scorer = {
  score: ([page, , , , score]) =>
    PROJECT.test(page) ? score - 10 : page === "glossary" ? score - 1 : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
