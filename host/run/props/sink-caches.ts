/** Caches of sinks as rules define them: properties and their defaults, where the files are, what becomes of them. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { HaumeaError } from '../../base/errors.js';
import { type Parsed, parse, withDefaults } from '../../base/fields/field.js';
import type { Logger } from '../../base/log/log.js';
import { encodeOf } from '../../codecs/index.js';
import { cacheProps } from '../../connectors/common.js';
import type { Connector } from '../../connectors/define.js';
import { connectorOf, dynamicProps, sinkForm } from '../../connectors/index.js';
import { actionPath } from '../../model/actions.js';
import type { Catalog, RuleDefinition } from '../../model/engine.js';
import type { CacheSettings, SinkSpec } from '../link/protocol.js';
import { propErrors } from './errors.js';

type SinkCaches = NonNullable<Catalog['sinkCaches']>;
type Props = Readonly<Record<string, unknown>>;

/** Longer names of folders are not possible everywhere. */
const maxNameLength = 120;

/** Settings of a queue in memory that drops its oldest messages. */
const inMemory: CacheSettings = {
  pageMessages: 64,
  memoryMessages: 1024,
  maxMessages: Number.POSITIVE_INFINITY,
  dropsOldest: true,
  isSynced: false,
  isCleanedAtStop: false,
  resendIntervalMs: 0,
};

/** The cache of an action; undefined when it has none. Throws a `config` error that names the property. */
export function cacheSettings(
  { id, actions, options, test }: RuleDefinition,
  i: number,
  props: Props,
  { sinkCaches }: Catalog,
): CacheSettings | undefined {
  const { type } = actions[i]!;
  const isNamed = Object.keys(props).some((name) => name.toLowerCase() === 'enablecache');
  const isDropping = options.bufferFullPolicy === 'dropOldest';
  if (!isNamed && !isDropping && sinkCaches?.defaults.enableCache !== true) return undefined;
  const where = `rule ${id}, sink ${type}`;
  const conf = confOf(props, sinkCaches, where);
  const connector = connectorOf(type);
  const { takes } = sinkForm(type, props);
  if (connector === undefined || connector.isInternal || takes === 'nothing' || test !== undefined) return undefined;
  if (!conf.enableCache) return isDropping ? inMemory : undefined;
  if (sinkCaches === undefined) {
    throw propErrors.noDataFolder(where);
  }
  const pageMessages = conf.bufferPageSize;
  const wholePages = (messages: number) => Math.max(1, Math.ceil(messages / pageMessages)) * pageMessages;
  return {
    ...(isInMemory(options, sinkCaches) ? {} : { folder: sinkFolder(id, i, type, props, sinkCaches.folder) }),
    pageMessages,
    memoryMessages: wholePages(conf.memoryCacheThreshold),
    maxMessages: wholePages(conf.maxDiskCache),
    dropsOldest: (isDropping && props.cacheFullPolicy === undefined) || conf.cacheFullPolicy === 'dropOldest',
    isSynced: conf.cacheSync === 'always',
    isCleanedAtStop: conf.cleanCacheAtStop,
    resendIntervalMs: conf.resendInterval,
    ...(conf.resendAlterQueue ? { alterQueue: alterQueue(conf, connector, props, where) } : {}),
  };
}

/** In a cluster the disk of a node is no safe place: with checkpoints what waits stays in memory, and comes again. */
function isInMemory({ qos }: RuleDefinition['options'], sinkCaches: SinkCaches): boolean {
  return sinkCaches.isOfNode === true && qos > 0;
}

/** Properties of caches that change nothing, a sentence each. */
export function cacheWarnings({ id, actions, options }: RuleDefinition, { sinkCaches }: Catalog): string[] {
  return actions.flatMap(({ type, props }, i) => {
    const spec = connectorOf(type)?.sink?.props;
    if (spec === undefined) return [];
    const given = Object.keys(cacheProps).filter((name) => props[name] !== undefined && name !== 'enableCache');
    if (given.length === 0 && props.enableCache !== true) return [];
    const { enableCache, resendAlterQueue } = confOf(props, sinkCaches, `rule ${id}, sink ${type}`);
    const idle = (name: string) => {
      if (!enableCache) return ' without enableCache';
      if (!resendAlterQueue && ofAlterQueue.has(name)) return ' without resendAlterQueue';
      return name === 'resendIndicatorField' && !isMarkable(type, props) ? ' but on messages in plain JSON' : undefined;
    };
    const path = actionPath(actions, i);
    const stays = sinkCaches !== undefined && enableCache && isInMemory(options, sinkCaches);
    const why = 'in a cluster, with qos 1 and 2, what waits on the disk of one node is not safe: sources wait instead';
    const idleOnes = given.flatMap((name) => {
      const reason = idle(name);
      return reason === undefined ? [] : [`${path}.${name} has no effect${reason}`];
    });
    return [...(stays ? [`${path}.enableCache keeps messages in memory: ${why}`] : []), ...idleOnes];
  });
}

const ofAlterQueue: ReadonlySet<string> = new Set(['resendPriority', 'resendIndicatorField', 'resendDestination']);

function confOf(props: Props, caches: SinkCaches | undefined, where: string): Parsed<typeof cacheProps> {
  return parse(caches === undefined ? cacheProps : withDefaults(cacheProps, caches.defaults), props, { where });
}

function alterQueue(
  conf: Parsed<typeof cacheProps>,
  { name, sink }: Connector,
  props: Props,
  where: string,
): NonNullable<CacheSettings['alterQueue']> {
  const { resendPriority: priority, resendIndicatorField, resendDestination } = conf;
  const property = sink?.resendsTo;
  if (resendDestination !== '' && property === undefined) {
    throw propErrors.oneDestination(where, name);
  }
  if (resendDestination !== '' && property !== undefined) {
    try {
      sink?.check({ ...props, [property]: resendDestination });
    } catch (error) {
      if (!(error instanceof HaumeaError)) throw error;
      const reason = error.message.replace(`property ${property}`, 'property resendDestination');
      throw propErrors.refused(where, reason, { cause: error });
    }
  }
  return {
    priority,
    indicatorField: isMarkable(name, props) ? resendIndicatorField : '',
    ...(resendDestination === '' || property === undefined ? {} : { destination: { [property]: resendDestination } }),
  };
}

/** Rows can be marked in messages that the kernel has written as JSON. */
function isMarkable(type: string, props: Props): boolean {
  const encode = encodeOf(props);
  return (
    sinkForm(type, props).takes === 'messages' && encode !== undefined && 'kernel' in encode && encode.kernel === 'json'
  );
}

// Files

/** Folder in which messages wait for an action. Messages made for a sink of another form are of no use to it. */
export function sinkFolder(id: string, i: number, type: string, props: Props, folder: string): string {
  const { takes, framing } = sinkForm(type, props);
  const dynamic = Object.keys(dynamicProps(type, props)).sort();
  const form = [
    String(i),
    type,
    dynamic.length > 0 ? 'messages' : framing,
    ...(takes === 'rows' ? [takes] : []),
    ...dynamic,
  ];
  return join(folder, folderName(id), form.join('-'));
}

/** Folder of the caches of a rule. */
function folderName(id: string): string {
  const name = encodeURIComponent(id).replaceAll('.', '%2E').replaceAll('*', '%2A');
  if (name.length <= maxNameLength) return name;
  // No name of an id has a dot.
  return `${name.slice(0, maxNameLength - 33)}.${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
}

/** Names what sinks have left that the rule does not have any more, a sentence each. */
export function formerCaches(id: string, sinks: readonly SinkSpec[], caches: SinkCaches | undefined): string[] {
  if (caches === undefined || !isThere(caches.folder)) return [];
  const folder = join(caches.folder, folderName(id));
  if (!existsSync(folder)) return [];
  const used = new Set(sinks.map(({ cache, retryQueue }) => cache?.folder ?? retryQueue?.folder));
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => !used.has(path))
    .map(
      (path) =>
        `messages in ${path} wait for a sink that the rule does not have: they go when it has it again, or with ` +
        'the rule',
    );
}

/** A folder that was not there in this turn of the event loop: at the start of a server each rule asks for it. */
let absent: string | undefined;

function isThere(folder: string): boolean {
  if (folder === absent) return false;
  if (existsSync(folder)) return true;
  absent = folder;
  setImmediate(() => {
    absent = undefined;
  });
  return false;
}

/** Removes the caches of a rule that is deleted. */
export async function removeCaches(id: string, caches: SinkCaches | undefined): Promise<void> {
  if (caches !== undefined) await rm(join(caches.folder, folderName(id)), { recursive: true, force: true });
}

/** Removes caches whose rules are gone, each with a line in the log. `ids` says which rules there are now. */
export async function sweepCaches(ids: () => readonly string[], folder: string, log: Logger): Promise<void> {
  const names = await readdir(folder).catch((): string[] => []);
  if (names.length === 0) return;
  const known = new Set(ids().map(folderName));
  for (const name of names) {
    if (known.has(name)) continue;
    log.warn(`messages in ${join(folder, name)} wait for sinks of a rule that is deleted: they are removed`);
    await rm(join(folder, name), { recursive: true, force: true });
  }
}
