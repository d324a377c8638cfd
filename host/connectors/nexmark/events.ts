/** The events of the benchmark. Auctions belong to persons and bids to auctions that came shortly before. */

const states = ['az', 'ca', 'id', 'or', 'wa', 'wy'];
const cities = ['phoenix', 'los angeles', 'san francisco', 'boise', 'portland', 'bend', 'redmond', 'seattle', 'kent'];
const firstNames = ['peter', 'paul', 'luke', 'john', 'saul', 'vicky', 'kate', 'julie', 'sarah', 'deiter', 'walter'];
const lastNames = ['shultz', 'abrams', 'spencer', 'white', 'bartels', 'walton', 'smith', 'jones', 'noris'];
const channels = ['Google', 'Facebook', 'Baidu', 'Apple'];
const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const categories = 5;
/** Ids that others may belong to. */
const mostRecent = 1000;
const longestAuctionMs = 600_000;

export type EventKind = 'person' | 'auction' | 'bid';

export class NexmarkEvents {
  #persons = 0;
  #auctions = 0;

  /** The next event of the kind, as it is at the time. */
  next(kind: EventKind, datetime: number): Record<string, unknown> {
    if (kind === 'person') return this.#person(datetime);
    return kind === 'auction' ? this.#auction(datetime) : this.#bid(datetime);
  }

  #person(datetime: number): Record<string, unknown> {
    return {
      id: this.#persons++,
      name: `${oneOf(firstNames)} ${oneOf(lastNames)}`,
      emailAddress: `${word(7)}@${word(5)}.com`,
      creditCard: Array.from({ length: 4 }, () => String(below(10_000)).padStart(4, '0')).join(' '),
      city: oneOf(cities),
      state: oneOf(states),
      datetime,
      extra: word(10 + below(20)),
    };
  }

  #auction(datetime: number): Record<string, unknown> {
    const initialBid = below(10_000);
    return {
      id: this.#auctions++,
      itemName: word(20),
      description: word(100),
      initialBid,
      reserve: initialBid + below(10_000),
      datetime,
      expires: datetime + below(longestAuctionMs),
      seller: recent(this.#persons),
      category: below(categories),
      extra: word(40),
    };
  }

  #bid(datetime: number): Record<string, unknown> {
    return {
      auction: recent(this.#auctions),
      bidder: recent(this.#persons),
      price: below(1000),
      channel: oneOf(channels),
      url: `https://www.nexmark.com/${word(5)}/${word(5)}/${word(5)}/item.htm?query=1`,
      datetime,
      extra: word(32),
    };
  }
}

/** A random one of the latest ids; 0 before any was given. */
function recent(count: number): number {
  return count === 0 ? 0 : count - 1 - below(Math.min(count, mostRecent));
}

function below(bound: number): number {
  return Math.floor(Math.random() * bound);
}

function oneOf(texts: readonly string[]): string {
  return texts[below(texts.length)]!;
}

function word(length: number): string {
  let text = '';
  for (let i = 0; i < length; i++) text += letters[below(letters.length)];
  return text;
}
