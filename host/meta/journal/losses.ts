/** Losses that nobody has acknowledged yet. */
import type { Loss, LostPart } from '../../model/losses.js';
import { kinds as names } from '../kinds.js';
import type { Store, StoreChange } from '../store.js';

/** A loss that is noted in the store. */
export interface NotedLoss extends Loss {
  readonly id: string;
  /** Time at which the loss was found, epoch ms. */
  readonly time: number;
}

/** Most losses that are noted; further ones are only in the log. */
const mostLosses = 10_000;

export class LossRepository {
  constructor(private readonly store: Pick<Store, 'list' | 'keys' | 'get' | 'batch'>) {}

  /** Noted losses, in the order in which they were found. */
  list(): NotedLoss[] {
    return this.store
      .list(names.loss)
      .flatMap(([id, text]) => noted(id, text))
      .sort((a, b) => Number(a.id) - Number(b.id));
  }

  get count(): number {
    return this.store.keys(names.loss).length;
  }

  has(id: string): boolean {
    return this.store.get(names.loss, id) !== undefined;
  }

  async add(losses: readonly Loss[]): Promise<void> {
    const before = new Map(this.store.list(names.loss));
    await this.store.batch(lossChanges(losses, before));
  }

  async remove(id: string): Promise<void> {
    await this.store.batch([[names.loss, id, null]]);
  }
}

/**
 * Changes that note losses beside those noted already. Losses of the messages of a stream, or of the state of a rule,
 * share one entry each.
 */
export function lossChanges(losses: readonly Loss[], before: ReadonlyMap<string, string>): StoreChange[] {
  const all = new Map([...before].flatMap(([id, text]) => noted(id, text).map((one) => [id, one] as const)));
  let last = Math.max(0, ...[...before.keys()].map(Number).filter(Number.isSafeInteger));
  const changed = new Map<string, NotedLoss>();
  for (const loss of losses) {
    const same = [...all.values()].find((one) => isSame(one, loss));
    if (same === undefined && all.size >= mostLosses) continue;
    const id = same?.id ?? String(++last);
    const messages = same?.messages === undefined ? loss.messages : same.messages + (loss.messages ?? 0);
    const one = { ...loss, id, time: Date.now(), ...(messages === undefined ? {} : { messages }) };
    all.set(id, one);
    changed.set(id, one);
  }
  return [...changed].map(([key, { id: _, ...value }]): StoreChange => [names.loss, key, JSON.stringify(value)]);
}

const ofDefinitions: ReadonlySet<LostPart> = new Set(['definition', 'change', 'deletion', 'files']);

function isSame(one: Loss, other: Loss): boolean {
  const isAlike = one.resource === other.resource && one.name === other.name && one.what === other.what;
  return isAlike && (!ofDefinitions.has(one.what) || one.reason === other.reason);
}

function noted(id: string, text: string): NotedLoss[] {
  try {
    return [{ ...(JSON.parse(text) as Omit<NotedLoss, 'id'>), id }];
  } catch {
    return [];
  }
}

const resourceNames: Readonly<Record<string, string>> = { confKey: 'configuration key' };

/** Text of a loss, one sentence. */
export function lossText({ resource, name, what, reason, messages, file }: Loss): string {
  const whose = name === '' ? '' : `${resourceNames[resource] ?? resource} ${name}`;
  const kept = file === undefined ? '' : `; what was damaged is kept as ${file}`;
  switch (what) {
    case 'definition':
      return `${whose === '' ? 'a definition whose name can not be read' : whose} is lost: ${reason}${kept}`;
    case 'change':
      return `the last change of ${whose} is lost, it is as it was before: ${reason}${kept}`;
    case 'deletion':
      return `that ${whose} was deleted is lost, it is there again: ${reason}${kept}`;
    case 'state':
      return `${whose} began without its state: ${reason}${kept}`;
    case 'newestState':
      return `${whose} went on from an older state: ${reason}${kept}`;
    case 'partOfState':
      return `${whose} began without a part of its state: ${reason}${kept}`;
    case 'files':
      return `${whose} is damaged, install it again: ${reason}${kept}`;
    case 'messages':
      return `${countOf(messages)} of ${whose} are lost: ${reason}${kept}`;
    default:
      return what satisfies never;
  }
}

function countOf(messages: number | undefined): string {
  if (messages === undefined) return 'messages';
  return `${messages.toLocaleString('en')} ${messages === 1 ? 'message' : 'messages'}`;
}
