/** What is lost with damaged parts of a store; loaded when there are some. */
import type { Loss } from '../../model/losses.js';
import { kinds as names } from '../kinds.js';
import type { Change, Damage } from './change-log.js';
import type { Kinds } from './database-content.js';

/** Kinds that a damaged part is searched for. */
const allKinds: ReadonlySet<string> = new Set(Object.values(names));
/** A change that a damaged part of the journal named, and that no later one has superseded. */
interface LostChange {
  /** The change itself; undefined when nothing of it can be read. */
  readonly change: Change | undefined;
  /** Readable text of the damaged part. */
  readonly text: string;
}

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

/** Losses by the damages of a journal; `kinds` is the content after all whole changes. */
export function lossesOf(damages: readonly Damage[], kinds: Kinds, reason: string, file: string): Loss[] {
  const losses = new Map<string, Loss>();
  for (const { change, text } of damages.flatMap(lostIn)) {
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

/** Begin of a change within a payload; texts can't match, as their quotes are escaped. */
const changeStart = /\["((?:[^"\\]|\\.)*)","((?:[^"\\]|\\.)*)",(")?/g;

/** The changes that a damaged part named, as far as they can be read. */
function lostIn({ bytes, later }: Damage): LostChange[] {
  const text = bytes.toString();
  const starts = [...text.matchAll(changeStart)].filter(([, kind = '']) => allKinds.has(kind));
  if (starts.length === 0) return [{ change: undefined, text }];
  return starts.flatMap((start, i): LostChange[] => {
    const [, kind = '', escaped = '', value] = start;
    const change: Change = [kind, unescaped(escaped), value === undefined ? null : ''];
    if (isSuperseded(change, later)) return [];
    return [{ change, text: text.slice(start.index, starts[i + 1]?.index ?? text.length) }];
  });
}

/** Whether one of the later changes is of the same key. */
function isSuperseded([kind, key]: Change, later: readonly (readonly Change[])[]): boolean {
  return later.some((changes) => changes.some((change) => change[0] === kind && change[1] === key));
}

function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
