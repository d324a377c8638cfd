/** Trials of what one rule in trouble costs others, and itself. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import mqtt from 'mqtt';
import { Broker } from '../chaos/broker.js';
import { cpuMs, pause } from '../process.js';
import type { NeighboursOptions } from './args.js';
import type { Counts } from './count.js';
import { BrokerFeed, DirectFeed, type Feed } from './feed.js';
import { Receiver, Witness } from './helpers.js';
import { Memory } from './memory.js';
import { far, Site } from './site.js';

export interface TrialResult {
  readonly trial: string;
  readonly rules: number;
  /** QoS of the source, and option of the rules. */
  readonly sourceQos: number;
  readonly qos: number;
  readonly messages: number;
  /** Messages a second that were sent. */
  readonly rate: number;
  /** Counts of the healthy rules together, and of the rule in trouble. */
  readonly near: Counts;
  readonly far: Counts;
  /**
   * Messages that a plain client beside the engine lost at the same broker: the machine was too slow for anybody; NaN
   * without one.
   */
  readonly witnessLost: number;
  /**
   * Messages that the broker threw away, since they were not acknowledged in time, but for those of that client; NaN
   * without one.
   */
  readonly droppedByBroker: number;
  /** Least processor time of the engine for a message, ns: all well, and with the trouble. */
  readonly healthyNs: number;
  readonly troubledNs: number;
  /** Resident memory of the engine, bytes: when the trouble began, at most, and when it ended. */
  readonly memoryBytes: readonly [number, number, number];
}

/** Context of a trial: options, programs, folder, output. */
export interface Means {
  readonly options: NeighboursOptions;
  readonly program: string[];
  readonly role: string[];
  readonly folder: string;
  /** Has something closed at the end of the trial, even of a failed one; the last one first. */
  keep<T extends Closing>(opened: T): T;
  say(line: string): void;
}

export interface Closing {
  close(): Promise<unknown>;
}

const none: Counts = { different: 0, lost: 0, repeated: 0, reordered: 0 };
const noWitness = { witnessLost: Number.NaN, droppedByBroker: Number.NaN };
const noTimes = { healthyNs: Number.NaN, troubledNs: Number.NaN };
/** Share of the messages before and after the trouble. */
const calmShare = 0.125;
const wide = ['max_queued_messages 0', 'max_inflight_messages 0'];

/**
 * One of many sinks is stuck: it stays connected and takes nothing. Turns with and without, to compare processor times.
 */
export async function stuck(means: Means, sourceQos: number): Promise<TrialResult> {
  const { options, folder, role, program, say } = means;
  const broker = sourceQos === 0 ? undefined : means.keep(await Broker.open(join(folder, 'broker'), wide));
  const feed: Feed =
    broker === undefined ? means.keep(await DirectFeed.open(role)) : means.keep(await BrokerFeed.open(broker));
  const receiver = means.keep(await Receiver.open(role));
  const site = means.keep(await Site.open(program, folder));
  await site.stream(feed);
  for (let i = 1; i < options.rules; i++) await site.healthy();
  // Small, so that it is full in each turn.
  await site.sick(receiver.url, {}, { bufferLength: 64 });
  await feed.subscribed();
  await site.connected();
  const perTurn = Math.ceil(options.messages / (2 * options.turns + 1));
  let sent = 0;
  const turn = async (): Promise<{ ns: number; rate: number }> => {
    const began = cpuMs(site.engine.pid);
    const rate = await feed.send(sent, perTurn, options.rate);
    sent += perTurn;
    await site.written(sent);
    return { ns: ((cpuMs(site.engine.pid) - began) * 1e6) / perTurn, rate };
  };
  const memory = new Memory(site.engine);
  // The first one warms up code and caches.
  await turn();
  const times: Record<'healthy' | 'troubled', number[]> = { healthy: [], troubled: [] };
  const rates: number[] = [];
  memory.begin();
  for (let i = 0; i < options.turns; i++) {
    const healthy = await turn();
    await receiver.tell('stuck');
    const troubled = await turn();
    await receiver.tell('flow');
    await site.figure(far, 'bufferLength', (value) => value === 0);
    times.healthy.push(healthy.ns);
    times.troubled.push(troubled.ns);
    rates.push(healthy.rate, troubled.rate);
    say(`  turn ${i + 1}: ${Math.round(healthy.ns)} ns a message, with a stuck sink ${Math.round(troubled.ns)} ns`);
  }
  return {
    trial: 'stuck',
    rules: options.rules,
    sourceQos,
    qos: 0,
    messages: sent,
    rate: Math.min(...rates),
    near: await site.counts(sent),
    far: await receiver.counts(sent),
    ...noWitness,
    healthyNs: Math.min(...times.healthy),
    troubledNs: Math.min(...times.troubled),
    memoryBytes: memory.end(),
  };
}

/** A broker with the bounds that it has by itself, and the sink of one of two rules is away. */
export async function away(means: Means, qos: number): Promise<TrialResult> {
  const { options, folder, role, program } = means;
  const broker = means.keep(await Broker.open(join(folder, 'broker'), ['sys_interval 1']));
  const dropped = means.keep(await DroppedByBroker.watch(broker.url));
  const feed = means.keep(await BrokerFeed.open(broker));
  const receiver = means.keep(await Receiver.open(role));
  const witness = means.keep(await Witness.open(role, feed.url, feed.topic));
  const site = means.keep(await Site.open(program, folder));
  await site.stream(feed);
  for (let i = 1; i < Math.min(2, options.rules); i++) await site.healthy({ qos });
  await site.sick(receiver.url, {}, { qos });
  await site.connected();
  const memory = new Memory(site.engine);
  const sending = feed.send(0, options.messages, options.rate);
  await outage(
    means,
    memory,
    () => receiver.tell('away'),
    () => receiver.tell('back'),
  );
  const rate = await sending;
  await site.written(options.messages);
  await settled(site, far, () => receiver.counts(options.messages));
  await settled(site, far, () => site.counts(options.messages));
  const witnessLost = (await witness.counts(options.messages)).lost;
  return {
    trial: 'away',
    rules: 2,
    sourceQos: 1,
    qos,
    messages: options.messages,
    rate,
    near: await site.counts(options.messages),
    far: await receiver.counts(options.messages),
    witnessLost,
    droppedByBroker: (await dropped.count()) - witnessLost,
    ...noTimes,
    memoryBytes: memory.end(),
  };
}

const cache = { enableCache: true, maxDiskCache: 100_000_000 };

/** A sink with a cache is away while its rule gets messages at a high rate. */
export async function sinkAway(means: Means): Promise<TrialResult> {
  const { options, folder, role, program } = means;
  const feed = means.keep(await DirectFeed.open(role));
  const receiver = means.keep(await Receiver.open(role));
  const site = means.keep(await Site.open(program, folder));
  await site.stream(feed);
  await site.sick(receiver.url, cache);
  await feed.subscribed();
  await site.connected();
  const memory = new Memory(site.engine);
  const sending = feed.send(0, options.messages, options.rate);
  await outage(
    means,
    memory,
    () => receiver.tell('away'),
    () => receiver.tell('back'),
  );
  const rate = await sending;
  const counts = () => receiver.counts(options.messages);
  await settled(site, far, counts);
  return ofCache({ trial: 'cache-sink', rules: 1, sourceQos: 0, rate, far: await counts() }, means, memory);
}

/**
 * The broker between two rules is away: the one before it has a cache and keeps what comes, the one behind it reads
 * from a session. A broker keeps what it has confirmed only when it ends in an orderly way.
 */
export async function brokerAway(means: Means): Promise<TrialResult> {
  const { options, folder, role, program } = means;
  const broker = means.keep(await Broker.open(join(folder, 'broker'), wide));
  const feed = means.keep(await DirectFeed.open(role));
  const site = means.keep(await Site.open(program, folder));
  const behind = { url: broker.url, topic: 'out', qos: 1 } as Feed;
  await site.stream(behind, 'behind');
  await site.healthy({}, 'behind');
  await site.figure('near0', 'source_behind_0_connection_status', (value) => value === 1);
  await site.stream(feed);
  await site.sick(broker.url, cache);
  await feed.subscribed();
  await site.connected();
  const memory = new Memory(site.engine);
  const sending = feed.send(0, options.messages, options.rate);
  await outage(
    means,
    memory,
    () => broker.process.end('SIGTERM'),
    () => broker.start(),
  );
  const rate = await sending;
  await site.written(options.messages);
  // Repeated rows make the file longer, so each look counts all of its rows.
  const counts = () => site.counts(options.messages);
  await settled(site, far, counts);
  return ofCache({ trial: 'cache-broker', rules: 2, sourceQos: 1, rate, far: await counts() }, means, memory);
}

/** The result of a trial without healthy rules, a plain client and turns. */
function ofCache(
  own: Pick<TrialResult, 'trial' | 'rules' | 'sourceQos' | 'rate' | 'far'>,
  { options: { messages } }: Means,
  memory: Memory,
): TrialResult {
  return { ...own, qos: 0, messages, near: none, ...noWitness, ...noTimes, memoryBytes: memory.end() };
}

/** Waits for the begin of the trouble, lets it last, and ends it. */
async function outage(
  { options: { messages, rate, awayMs }, say }: Means,
  memory: Memory,
  begin: () => Promise<unknown>,
  end: () => Promise<unknown>,
): Promise<void> {
  await pause((1000 * calmShare * messages) / Math.max(1, rate));
  await begin();
  memory.begin();
  say(`  away for ${Math.round(awayMs / 1000)} s …`);
  await pause(awayMs);
  memory.mark();
  await end();
}

const settlePollMs = 500;
const quietMs = 500;
const patienceMs = 60_000;

/** Waits until the receiver has all, or gets nothing new for long. */
async function settled(site: Site, rule: string, look: () => Promise<Counts>): Promise<void> {
  let seen = -1;
  for (let since = performance.now(); performance.now() - since < patienceMs; await pause(settlePollMs)) {
    const { different, lost } = await look();
    if (different !== seen) since = performance.now();
    seen = different;
    if (lost > 0) continue;
    // Repeated rows come at once, so a short wait after the last one is enough.
    await site.figure(rule, 'bufferLength', (value) => value === 0);
    await pause(quietMs);
    return;
  }
}

/** Number of messages that mosquitto has dropped, as it reports itself. */
class DroppedByBroker {
  #count = 0;

  private constructor(readonly client: mqtt.MqttClient) {}

  static async watch(url: string): Promise<DroppedByBroker> {
    const client = await mqtt.connectAsync(url);
    const watch = new DroppedByBroker(client);
    client.on('message', (_topic, payload) => {
      watch.#count = Number(payload.toString());
    });
    await client.subscribeAsync('$SYS/broker/publish/messages/dropped');
    return watch;
  }

  /** Messages dropped so far; mosquitto reports the number each second. */
  async count(): Promise<number> {
    await pause(1500);
    return this.#count;
  }

  async close(): Promise<void> {
    await this.client.endAsync(true);
  }
}

export function folderOf(folder: string, name: string): string {
  const own = join(folder, name);
  mkdirSync(own, { recursive: true });
  return own;
}
