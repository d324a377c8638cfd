/**
 * Reads topics: one partition of each, from what is new on, or those that a consumer group gives it, from what the
 * group has committed on. Positions are offsets; a position of a checkpoint goes before what the group has, unless
 * another member of it has got further. A part of a rule that is divided by partitions reads its share of them by
 * itself, since Kafka would give them to others without the state that belongs to them. The group only keeps offsets.
 */
import { reasonOf } from '../../base/errors.js';
import type { KafkaConf } from '../../clients/kafka/connection.js';
import { GroupMember } from '../../clients/kafka/group.js';
import {
  earliest,
  edgeOf,
  type KafkaPosition,
  note,
  type Offsets,
  positionOf,
  without,
} from '../../clients/kafka/offsets.js';
import { KafkaPool, type SharedKafka } from '../../clients/kafka/pool.js';
import { PartitionReader, type Place } from '../../clients/kafka/reader.js';
import { ShareReader } from '../../clients/kafka/shares.js';
import { Stops } from '../../clients/kafka/stops.js';
import type { Assignment } from '../../clients/kafka/subscription.js';
import { connectorErrors } from '../errors.js';
import { type Share, shareIn } from '../partitions.js';
import type { Source, SourceContext } from '../running.js';
import type { TlsConf } from '../tls.js';
import { RecordFrames } from './record-frames.js';
import { tlsOf } from './tls.js';

export interface KafkaSourceConf extends KafkaConf, TlsConf {
  groupID: string;
  partition: number;
  maxBytes: number;
  maxAttempts: number;
  isolationLevel: 'read_committed' | 'read_uncommitted';
}

/** Interval of commits for a group where no checkpoints ask for them, ms. */
const commitIntervalMs = 1000;
const lastCommitMs = 2000;

export class KafkaSource implements Source {
  readonly peer: string;
  readonly #topics: readonly string[];
  /** Partitions that it reads by itself; undefined: one, or those of a group. */
  readonly #share: Share | undefined;
  readonly #isolation: 0 | 1;
  readonly #frames = new RecordFrames();
  #shared: SharedKafka | undefined;
  #reader: PartitionReader | undefined;
  #member: GroupMember | undefined;
  #places: Place[] = [];
  /** Where to begin in partitions that are not read yet. */
  #from: Offsets = {};
  /** What the group has, as far as it is known. */
  #committed: Offsets = {};
  /** Who we were in the group on the last connection, or in the run before. */
  #former: string | undefined;
  #stops: Stops | undefined;
  #timer: NodeJS.Timeout | undefined;
  #shareReader: ShareReader | undefined;
  /** It has neither read anything nor a place to go on from. */
  #isNew = true;
  /** The group has not taken offsets, which was told. */
  #isRefused = false;
  #isClosed = false;

  constructor(
    public conf: KafkaSourceConf,
    readonly context: SourceContext,
  ) {
    this.peer = `kafka ${conf.brokers}`;
    const { names, share } = shareIn(context.dataSource);
    this.#topics = [...new Set(names)];
    this.#share = share;
    this.#isolation = conf.isolationLevel === 'read_committed' ? 1 : 0;
  }

  async open(): Promise<void> {
    this.#end();
    const tls = await tlsOf(this.conf, this.context.paths);
    if (this.#isClosed) return;
    const shared = this.context.shared('kafka.clients', () => new KafkaPool()).take(this.conf, tls);
    this.#shared = shared;
    try {
      await shared.client.connect();
      await this.#begin(shared);
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  renew(conf: KafkaSourceConf): void {
    this.conf = conf;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const member = this.#member;
    this.#member = undefined;
    this.#reader?.close();
    this.#shareReader?.close();
    clearInterval(this.#timer);
    if (member !== undefined) {
      if (!this.context.isCommitted) await this.#lastCommit(member);
      await member.close();
    }
    this.#end();
  }

  position(): KafkaPosition {
    const member = this.#member?.memberId || this.#former;
    return { offsets: this.#offsets, ...(member !== undefined && { member }) };
  }

  get #offsets(): Offsets {
    const offsets = structuredClone(this.#from);
    for (const { topic, partition, position } of this.#places) note(offsets, topic, partition, position);
    return offsets;
  }

  seek(position: unknown): void {
    const { offsets: from, member } = positionOf(position);
    this.#former ??= member;
    this.#isNew = false;
    if (this.#places.length === 0) {
      this.#from = earliest(this.#from, from);
      return;
    }
    for (const place of this.#places) {
      const offset = from[place.topic]?.[place.partition];
      if (offset !== undefined) place.position = offset;
    }
    this.#reader?.read(this.#places);
  }

  seekAll(positions: readonly unknown[], reached: (index: number) => void): void {
    const places = positions.map((position) => (position === undefined ? undefined : positionOf(position)));
    for (const place of places) {
      this.#former ??= place?.member;
      if (place === undefined) continue;
      this.#isNew = false;
      this.#from = earliest(this.#from, place.offsets);
    }
    this.#stops = new Stops(
      places.map((place) => place?.offsets),
      reached,
    );
  }

  isAt(position: unknown): boolean {
    const at = this.#offsets;
    const { offsets: other } = positionOf(position);
    return this.#places.every(({ topic, partition }) => at[topic]?.[partition] === other[topic]?.[partition]);
  }

  commit(position: unknown): void {
    const member = this.#member;
    if (member === undefined) return;
    const offsets = this.#ahead(position === undefined ? this.#offsets : positionOf(position).offsets);
    this.#noteCommitted(offsets);
    member.commit(offsets).catch((error: unknown) => {
      // The next commit has these or later ones; after a loss of the connection the checkpoint stands for them.
      this.#forgetCommitted(offsets);
      const { log } = this.context;
      if (this.#share === undefined || this.#isRefused) log.debug(`offsets are not committed: ${reasonOf(error)}`);
      else log.warn(`group ${this.conf.groupID} takes no offsets, as while it has members: ${reasonOf(error)}`);
      this.#isRefused = true;
    });
  }

  async #begin({ client }: SharedKafka): Promise<void> {
    const { maxBytes, maxAttempts, groupID } = this.conf;
    const conf = { maxBytes, maxAttempts, isolation: this.#isolation };
    const { context } = this;
    this.#reader = new PartitionReader(client, conf, {
      take: (place, batch) => this.#frames.add(place, batch),
      written: () => this.#write(),
      get isFull() {
        return context.isFull;
      },
      ready: () => context.ready(),
      exception: (reason) => context.exception(reason),
      lost: (reason) => this.#lost(reason),
    });
    if (this.#share !== undefined) return this.#readShare(client, groupID, this.#share);
    if (groupID !== '') return this.#join(client, groupID);
    const { partition } = this.conf;
    this.#places = [];
    const places: Place[] = [];
    for (const topic of this.#topics) {
      const known = this.#from[topic]?.[partition];
      const offset = known ?? (await edgeOf(client, { topic, partition }, 'end', this.#isolation));
      places.push(placeAt(topic, partition, offset));
    }
    this.#read(places);
    return undefined;
  }

  #memberOf(client: SharedKafka['client'], groupID: string): GroupMember {
    const owner = {
      revoked: () => this.#revoked(),
      assigned: (assignment: Assignment) => this.#assigned(client, assignment),
      exception: (reason: string) => this.context.exception(reason),
      lost: (reason: string) => this.#lost(reason),
    };
    const member = new GroupMember(client, groupID, this.#topics, owner, this.#former);
    this.#member = member;
    return member;
  }

  async #join(client: SharedKafka['client'], groupID: string): Promise<void> {
    await this.#memberOf(client, groupID).join();
    this.#commitOften();
  }

  #commitOften(): void {
    if (!this.context.isCommitted) this.#timer = setInterval(() => this.commit(undefined), commitIntervalMs).unref();
  }

  /** Reads its share of the partitions; the group, where there is one, has no member in it. */
  async #readShare(client: SharedKafka['client'], groupID: string, share: Share): Promise<void> {
    if (this.conf.partition !== 0) {
      throw connectorErrors.props('kafka source', 'property partition is for a rule that is not divided');
    }
    if (groupID !== '') this.#memberOf(client, groupID);
    const reader = new ShareReader(client, this.#topics, share, {
      grown: async (added) => {
        const more = await this.#placesIn(client, added, 'begin');
        if (this.#shareReader === reader) this.#read([...this.#places, ...more]);
      },
      failed: (reason) => this.context.log.debug(`new partitions are not looked for: ${reason}`),
    });
    this.#shareReader = reader;
    const assignment = await reader.open();
    if (assignment.size === 0) this.context.log.warn(`part ${share.part} of ${share.of}: no partition is left for it`);
    this.#read(await this.#placesIn(client, assignment, groupID === '' && this.#isNew ? 'end' : 'begin'));
    if (groupID !== '') this.#commitOften();
  }

  /** Where to read partitions of the share: nobody else has got further than the checkpoint. */
  async #placesIn(client: SharedKafka['client'], assignment: Assignment, edge: 'begin' | 'end'): Promise<Place[]> {
    const committed = assignment.size === 0 ? {} : ((await this.#member?.committed(assignment)) ?? {});
    this.#noteCommitted(committed);
    const places: Place[] = [];
    for (const [topic, partitions] of assignment) {
      for (const partition of partitions) {
        const known = this.#from[topic]?.[partition] ?? committed[topic]?.[partition];
        places.push(
          placeAt(topic, partition, known ?? (await edgeOf(client, { topic, partition }, edge, this.#isolation))),
        );
      }
    }
    return places;
  }

  /** Nothing more comes of these partitions; without checkpoints the group goes on where we stand. */
  #revoked(): void {
    this.#reader?.stop();
    if (!this.context.isCommitted) this.commit(undefined);
    this.#keepPlaces();
  }

  async #assigned(client: SharedKafka['client'], assignment: Assignment): Promise<void> {
    const committed = assignment.size === 0 ? {} : ((await this.#member?.committed(assignment)) ?? {});
    this.#committed = committed;
    const places: Place[] = [];
    for (const [topic, partitions] of assignment) {
      for (const partition of partitions) {
        const known = [committed[topic]?.[partition], this.#from[topic]?.[partition]].filter(
          (one) => one !== undefined,
        );
        const offset =
          known.length > 0 ? Math.max(...known) : await edgeOf(client, { topic, partition }, 'begin', this.#isolation);
        places.push(placeAt(topic, partition, offset));
      }
    }
    this.#read(places);
  }

  #read(places: Place[]): void {
    if (this.#isClosed || this.#reader === undefined) return;
    this.#isNew = false;
    this.#places = places;
    // A partition that a former member still has comes with a later assignment, and goes on where we stand.
    this.#from = without(this.#from, places);
    this.#stops?.pass(places);
    this.#reader.read(places);
  }

  #write(): void {
    const { frames } = this.#frames;
    if (frames.count === 0) return;
    this.context.write(frames.bytes);
    frames.clear();
    if (this.#stops?.pass(this.#places) === true) this.#reader?.read(this.#places);
  }

  /** Offsets of partitions that are ours, and further than what the group has. */
  #ahead(offsets: Offsets): Offsets {
    const ahead: Offsets = {};
    for (const { topic, partition } of this.#places) {
      const offset = offsets[topic]?.[partition];
      if (offset === undefined || offset <= (this.#committed[topic]?.[partition] ?? -1)) continue;
      note(ahead, topic, partition, offset);
    }
    return ahead;
  }

  #noteCommitted(offsets: Offsets): void {
    for (const [topic, partitions] of Object.entries(offsets)) {
      this.#committed[topic] = { ...this.#committed[topic], ...partitions };
    }
  }

  /** Takes back what `#noteCommitted` noted, where no later offset was noted since. */
  #forgetCommitted(offsets: Offsets): void {
    for (const [topic, partitions] of Object.entries(offsets)) {
      const known = this.#committed[topic] ?? {};
      for (const [partition, offset] of Object.entries(partitions)) {
        if (known[partition] === offset) delete known[partition];
      }
    }
  }

  async #lastCommit(member: GroupMember): Promise<void> {
    const committed = member.commit(this.#ahead(this.#offsets)).catch(() => {});
    await Promise.race([committed, new Promise<void>((resolve) => setTimeout(resolve, lastCommitMs).unref())]);
  }

  #lost(reason: string): void {
    if (this.#isClosed || this.#shared === undefined) return;
    this.#end();
    this.context.disconnected(reason);
  }

  #keepPlaces(): void {
    this.#from = this.#offsets;
    this.#places = [];
  }

  /** Ends the connection; the places stay. */
  #end(): void {
    clearInterval(this.#timer);
    this.#shareReader?.close();
    this.#shareReader = undefined;
    this.#keepPlaces();
    this.#former = this.#member?.memberId || this.#former;
    void this.#member?.close();
    this.#member = undefined;
    this.#reader?.close();
    this.#reader = undefined;
    this.#shared?.giveBack();
    this.#shared = undefined;
  }
}

function placeAt(topic: string, partition: number, offset: number): Place {
  return { topic, partition, next: offset, position: offset, limit: Number.POSITIVE_INFINITY };
}
