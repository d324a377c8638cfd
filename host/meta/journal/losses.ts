/** Losses that nobody has acknowledged yet, and the losses of a damaged store. */
import type { Loss, LostPart } from '../../model/losses.js';
import { kinds as names } from '../kinds.js';
import type { Store, StoreChange } from '../store.js';
import type { Change, LostChange } from './change-log.js';
import type { Kinds } from './database-content.js';

/** A loss that is noted in the store. */
export interface NotedLoss extends Loss {
  readonly id: string;
  /** Time at which the loss was found, epoch ms. */
  readonly time: number;
}

/** Most losses that are noted; further ones are only in the log. */
const mostLosses = 10_000;

const resources: Readonly<Record<string, string>> = {
  [names.rule]: 'rule',
  [names.ruleState]: 'rule',
  [names.source]: 'stream',
  [names.confKey]: 'confKey',
  [names.connection]: 'connection',
  [names.schema]: 'schema',
  [names.service]: 'service',
  [names.plugin]: 'plugin',
  [names.script]: 'script',
};

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

/** Losses among the changes that a damaged journal named; `kinds` is the content after all whole changes. */
export function lossesOf(lost: readonly LostChange[], kinds: Kinds, reason: string, file: string): Loss[] {
  const losses = new Map<string, Loss>();
  for (const { change, text } of lost) {
    if (change === undefined) {
      losses.set(`${losses.size}`, { resource: '', name: '', what: 'definition', reason, file });
      continue;
    }
    // Nobody misses records that the server keeps for itself.
    const loss = resources[change[0]] === undefined ? undefined : lossOf(change, text, kinds);
    // For a rule, the loss of its definition says more than the loss of its run state.
    const key = loss && `${loss.resource}/${loss.name}`;
    if (loss !== undefined && (key === undefined || !losses.has(key) || change[0] !== names.ruleState))
      losses.set(key!, { ...loss, reason, file });
  }
  return [...losses.values()];
}

/** The loss that a lost change means; undefined when nobody misses the change. */
function lossOf([kind, name, value]: Change, text: string, kinds: Kinds): Omit<Loss, 'reason'> | undefined {
  const isThere = kinds.get(kind)?.has(name) === true;
  const isTable = kind === names.source && /CREATE\s+TABLE/i.test(text);
  const resource = isTable ? 'table' : (resources[kind] ?? '');
  if (value === null) return isThere ? { resource, name, what: 'deletion' } : undefined;
  // A lost run state counts as a change of the rule, not as a lost definition.
  if (kind === names.ruleState) {
    return kinds.get(names.rule)?.has(name) === true ? { resource, name, what: 'change' } : undefined;
  }
  return { resource, name, what: isThere ? 'change' : 'definition' };
}

/** Losses where the file that is there now differs from the content that the server wrote last. */
export function differencesOf(written: Kinds, found: Kinds, reason: string): Loss[] {
  const losses: Loss[] = [];
  for (const [kind, named] of Object.entries(resources)) {
    const now = found.get(kind);
    for (const [name, value] of written.get(kind) ?? []) {
      if (now?.get(name) === value) continue;
      const isTable = kind === names.source && /CREATE\s+TABLE/i.test(value);
      losses.push({
        resource: isTable ? 'table' : named,
        name,
        what: now?.has(name) === true ? 'change' : 'definition',
        reason,
      });
    }
  }
  return losses;
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
