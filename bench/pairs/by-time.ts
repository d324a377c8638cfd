/**
 * Two streams joined by time without a window, by 1,000 keys: with the newest row of the other, and with those within
 * an interval.
 */
import { deviceName, eachRow, type Pair, type Piece, type Program, randomNumbers, startMs } from './pair.js';

interface Trade {
  share: string;
  pieces: number;
  at: number;
}

interface Quote {
  share: string;
  price: number;
  at: number;
}

const shares = 1000;
const rowsOfPiece = 600;
/** After all others, so that everything is sent. */
const lastMs = 1_000_000_000;

/**
 * Rows of both streams in the order of their times, in pieces of the one and the other; a row of a share each
 * `roundMs`.
 */
function input(rows: number, roundMs: number): Piece[] {
  const random = randomNumbers();
  const pieces: Piece[] = [];
  const step = roundMs / shares;
  const add = (stream: string, lines: string[]) =>
    pieces.push({ stream, bytes: Buffer.from(lines.join('')), now: startMs });
  const shareOf = (i: number) => deviceName((i * 7) % shares);
  for (let from = 0; from < rows / 2; from += rowsOfPiece) {
    const numbers = Array.from({ length: Math.min(rowsOfPiece, rows / 2 - from) }, (_, i) => from + i);
    const price = () => Math.floor(random() * 8000) / 8;
    const at = (i: number) => startMs + i * step;
    add(
      'quotes',
      numbers.map((i) => `{"share":"${shareOf(i)}","price":${price()},"at":${at(i)}}\n`),
    );
    add(
      'trades',
      numbers.map((i) => `{"share":"${shareOf(i + 3)}","pieces":${1 + (i % 9)},"at":${at(i) + 1}}\n`),
    );
  }
  for (const stream of ['quotes', 'trades'])
    add(stream, [`{"share":"none of both ${stream}","at":${startMs + lastMs}}\n`]);
  return pieces;
}

/** Rows of both in the order of their times, as far as both have come. */
function inOrder(takeTrade: (trade: Trade) => string, takeQuote: (quote: Quote) => void): Program {
  let trades: Trade[] = [];
  let quotes: Quote[] = [];
  let newestTrade = 0;
  let newestQuote = 0;
  return (piece) => {
    if (piece.stream === 'trades') {
      eachRow<Trade>(piece, (row) => {
        trades.push(row);
        newestTrade = Math.max(newestTrade, row.at);
      });
    } else {
      eachRow<Quote>(piece, (row) => {
        quotes.push(row);
        newestQuote = Math.max(newestQuote, row.at);
      });
    }
    const until = Math.min(newestTrade, newestQuote);
    let out = '';
    let t = 0;
    let q = 0;
    while (t < trades.length && trades[t]!.at <= until) {
      while (q < quotes.length && quotes[q]!.at <= trades[t]!.at) takeQuote(quotes[q++]!);
      out += takeTrade(trades[t++]!);
    }
    while (q < quotes.length && quotes[q]!.at <= until) takeQuote(quotes[q++]!);
    trades = trades.slice(t);
    quotes = quotes.slice(q);
    return out;
  };
}

function newest(): Program {
  const quoted = new Map<string, Quote>();
  return inOrder(
    ({ share, pieces, at }) => {
      const quote = quoted.get(share);
      if (quote === undefined) return '';
      return `${JSON.stringify({ at, pieces, price: quote.price, share })}\n`;
    },
    (quote) => quoted.set(quote.share, quote),
  );
}

/** Each trade with the quotes of its share of the last `spanMs`. */
function within(spanMs: number): Program {
  const quoted = new Map<string, { quotes: Quote[]; from: number }>();
  return inOrder(
    ({ share, pieces, at }) => {
      const list = quoted.get(share);
      if (list === undefined) return '';
      const { quotes } = list;
      while (list.from < quotes.length && quotes[list.from]!.at < at - spanMs) list.from++;
      let out = '';
      for (let i = list.from; i < quotes.length; i++) {
        out += `${JSON.stringify({ at, pieces, price: quotes[i]!.price, share })}\n`;
      }
      // Quotes that are too old are removed in groups, not one by one.
      if (list.from > 32) {
        quotes.splice(0, list.from);
        list.from = 0;
      }
      return out;
    },
    (quote) => {
      const list = quoted.get(quote.share);
      if (list === undefined) quoted.set(quote.share, { quotes: [quote], from: 0 });
      else list.quotes.push(quote);
    },
  );
}

const definitions = ['trades', 'quotes'].map(
  (name) => `CREATE STREAM ${name} () WITH (DATASOURCE="${name}", TYPE="memory", TIMESTAMP="at")`,
);
const columns =
  'SELECT trades.share AS share, trades.pieces AS pieces, quotes.price AS price, trades.at AS at FROM trades';
const options = { isEventTime: true, lateToleranceMs: 0 };

/** A quote of each share comes once in the interval, however long that is: a trade meets one. */
const interval = (spanMs: number): Pair => ({
  name: `interval join of ${spanMs} ms, a match a row`,
  definitions,
  sql:
    `${columns} INNER JOIN quotes ON trades.share = quotes.share AND quotes.at BETWEEN trades.at - ${spanMs} AND ` +
    'trades.at',
  options,
  rows: 200_000,
  input: (rows) => input(rows, spanMs),
  program: () => within(spanMs),
});

export const pairs: Pair[] = [
  {
    name: 'as-of join with the newest row of a key',
    definitions,
    sql: `${columns} ASOF JOIN quotes MATCH_CONDITION (trades.at >= quotes.at) ON trades.share = quotes.share`,
    options,
    rows: 200_000,
    input: (rows) => input(rows, 2000),
    program: newest,
  },
  interval(4_000),
  interval(400_000),
];
