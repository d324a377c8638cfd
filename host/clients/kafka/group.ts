/**
 * A member of a consumer group: joins it, keeps its place by heartbeats, and joins again when the group shares its
 * partitions out anew.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { ConnectionPool } from '@platformatic/kafka';
import { reasonOf } from '../../base/errors.js';
import type { KafkaClient } from './client.js';
import { kafkaErrors } from './errors.js';
import type { Offsets } from './offsets.js';
import { answerOf, codeOf, codes, isComingUp, isTransient } from './reasons.js';
import {
  type Assignment,
  assign,
  assignmentBytes,
  assignmentOf,
  assignors,
  subscription,
  topicsOf,
} from './subscription.js';

export interface GroupOwner {
  /** The partitions are shared out anew: nothing of them may be read until `assigned`. */
  revoked(): void;
  assigned(assignment: Assignment): Promise<void>;
  exception(reason: string): void;
  lost(reason: string): void;
}

/** A member that is silent for so long is taken for gone. */
const sessionTimeoutMs = 10_000;
const rebalanceTimeoutMs = 30_000;
const heartbeatMs = 3000;
/** Interval in which the member that shares partitions out looks for new ones, ms. */
const lookMs = 30_000;
/** Times that a group may change while a member joins. */
const mostJoins = 100;
const leaveTimeoutMs = 2000;
/** Time for which a coordinator may be coming up, and the pause between two attempts, ms. */
const patienceMs = 30_000;
const pauseMs = 150;

interface Joined {
  readonly memberId: string;
  readonly generationId: number;
  readonly leader: string;
  readonly protocolName: string;
  readonly members: readonly { memberId: string; metadata: Buffer }[];
}

export class GroupMember {
  #pool: ConnectionPool;
  #memberId = '';
  #generation = -1;
  /** Number of partitions of each topic when we shared them out, and when that is looked at again. */
  #counts: ReadonlyMap<string, number> | undefined;
  #lookAt = 0;
  #coordinator: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Number of this connection to the group: what earlier ones have under way counts no more. */
  #round = 0;

  constructor(
    readonly client: KafkaClient,
    readonly groupId: string,
    readonly topics: readonly string[],
    readonly owner: GroupOwner,
    /** Member that we were in an earlier connection or run, which nobody needs to wait for. */
    readonly former?: string,
  ) {
    this.#pool = client.newPool();
  }

  /** Name that the group has given us; empty before. */
  get memberId(): string {
    return this.#memberId;
  }

  /** Joins the group; the owner has its partitions when this resolves. */
  async join(): Promise<void> {
    const round = ++this.#round;
    this.#coordinator = undefined;
    if (this.former !== undefined) await this.#leave(this.former);
    if (round === this.#round) await this.#join(round);
  }

  /** Offsets that the group has committed; partitions without one are left out. */
  async committed(assignment: Assignment): Promise<Offsets> {
    interface Answer {
      groups: { topics: { name: string; partitions: { partitionIndex: number; committedOffset: bigint }[] }[] }[];
    }
    const topics = [...assignment].map(([name, partitionIndexes]) => ({ name, partitionIndexes }));
    const group = { groupId: this.groupId, memberId: null, memberEpoch: -1, topics };
    const answer = await this.#patiently<Answer>('OffsetFetch', [[group], true]);
    const offsets: Offsets = {};
    for (const { name, partitions } of answer.groups.flatMap((one) => one.topics)) {
      const known = partitions.filter(({ committedOffset }) => committedOffset >= 0n);
      const entries = known.map((one) => [one.partitionIndex, Number(one.committedOffset)] as const);
      offsets[name] = Object.fromEntries(entries);
    }
    return offsets;
  }

  /** Commits offsets for the group; throws when they are not of the present sharing out. */
  async commit(offsets: Offsets): Promise<void> {
    const topics = Object.entries(offsets).map(([name, partitions]) => ({
      name,
      partitions: Object.entries(partitions).map(([partition, offset]) => ({
        partitionIndex: Number(partition),
        committedOffset: BigInt(offset),
        committedLeaderEpoch: -1,
        committedMetadata: null,
      })),
    }));
    if (topics.length === 0) return;
    await this.#ask('OffsetCommit', [this.groupId, this.#generation, this.#memberId, null, topics]);
  }

  /** Leaves the group, so that the others get its partitions at once; waits for that a short while. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.stop();
    if (this.#memberId !== '' && this.#coordinator !== undefined) {
      const left = this.#leave(this.#memberId).catch(() => {});
      const late = new Promise<void>((resolve) => setTimeout(resolve, leaveTimeoutMs).unref());
      await Promise.race([left, late]);
    }
    this.client.endPool(this.#pool);
  }

  /** Ends what is under way, until it joins again. */
  stop(): void {
    this.#round++;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #leave(memberId: string): Promise<void> {
    try {
      await this.#patiently('LeaveGroup', [this.groupId, [{ memberId }]]);
    } catch (error) {
      // The group may have forgotten it.
      if (codeOf(error) === undefined) throw error;
    }
  }

  async #join(round: number): Promise<void> {
    for (let attempt = 0; attempt < mostJoins; attempt++) {
      try {
        const assignment = await this.#joinOnce();
        if (round !== this.#round) return;
        await this.owner.assigned(assignment);
        if (round === this.#round) this.#beat(round);
        return;
      } catch (error) {
        if (round !== this.#round) return;
        if (!this.#mayRejoin(error)) throw error;
      }
    }
    throw kafkaErrors.connection(`group ${this.groupId} does not settle`);
  }

  /** Takes an error that only means that the member has to join again. */
  #mayRejoin(error: unknown): boolean {
    const code = codeOf(error);
    if (code === codes.memberIdRequired) this.#memberId = answerOf<Joined>(error)?.memberId ?? '';
    else if (code === codes.unknownMember || code === codes.illegalGeneration) this.#memberId = '';
    else if (code === codes.notCoordinator) this.#coordinator = undefined;
    else if (code !== codes.rebalance) return false;
    return true;
  }

  async #joinOnce(): Promise<Assignment> {
    const metadata = subscription(this.topics);
    const protocols = assignors.map((name) => ({ name, metadata }));
    const joined = await this.#patiently<Joined>('JoinGroup', [
      ...[this.groupId, sessionTimeoutMs, rebalanceTimeoutMs, this.#memberId, null, 'consumer', protocols, null],
    ]);
    this.#memberId = joined.memberId;
    this.#generation = joined.generationId;
    this.#counts = undefined;
    const shares = joined.leader === joined.memberId ? await this.#shares(joined) : [];
    const { groupId } = this;
    const synced = await this.#patiently<{ assignment: Buffer }>('SyncGroup', [
      ...[groupId, this.#generation, this.#memberId, null, 'consumer', joined.protocolName, shares],
    ]);
    return assignmentOf(Buffer.from(synced.assignment));
  }

  async #shares({ members, protocolName }: Joined): Promise<{ memberId: string; assignment: Buffer }[]> {
    const all = members.map(({ memberId: id, metadata }) => ({ id, topics: topicsOf(Buffer.from(metadata)) }));
    const counts = await this.#count(new Set(all.flatMap(({ topics }) => topics)));
    this.#counts = counts;
    this.#lookAt = Date.now() + lookMs;
    return [...assign(protocolName, all, counts)].map(([memberId, share]) => ({
      memberId,
      assignment: assignmentBytes(share),
    }));
  }

  async #count(topics: Iterable<string>): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const topic of topics) {
      this.client.forget(topic);
      counts.set(topic, (await this.client.topic(topic, true)).leaders.length);
    }
    return counts;
  }

  /** Whether topics have other partitions than when we shared them out; looks seldom. */
  async #hasGrown(): Promise<boolean> {
    const known = this.#counts;
    if (known === undefined || Date.now() < this.#lookAt) return false;
    this.#lookAt = Date.now() + lookMs;
    const now = await this.#count(known.keys());
    return [...now].some(([topic, count]) => known.get(topic) !== count);
  }

  #beat(round: number): void {
    this.#timer = setTimeout(() => void this.#heartbeat(round), heartbeatMs).unref();
  }

  async #heartbeat(round: number): Promise<void> {
    let isChanged = false;
    try {
      await this.#ask('Heartbeat', [this.groupId, this.#generation, this.#memberId, null]);
      isChanged = await this.#hasGrown();
    } catch (error) {
      if (round !== this.#round) return;
      const code = codeOf(error);
      if (code === codes.notCoordinator || !isTransient(code)) {
        if (!this.#mayRejoin(error)) return this.owner.lost(reasonOf(error));
        isChanged = true;
      }
    }
    if (round !== this.#round) return;
    if (!isChanged) return this.#beat(round);
    // Without its partitions the member would go on as one that reads nothing: any failure is a loss.
    await this.#rejoin(round).catch((failure: unknown) => {
      if (round === this.#round) this.owner.lost(reasonOf(failure));
    });
  }

  async #rejoin(round: number): Promise<void> {
    this.owner.revoked();
    await this.#join(round);
  }

  /**
   * As `#ask`; a coordinator that is coming up is asked again, as that of the first group of a cluster. Not for
   * commits: later ones may be there by then.
   */
  async #patiently<T>(name: string, args: unknown[]): Promise<T> {
    const round = this.#round;
    const end = Date.now() + patienceMs;
    for (;;) {
      try {
        return await this.#ask<T>(name, args);
      } catch (error) {
        if (!isComingUp(codeOf(error)) || this.#isClosed || Date.now() > end) throw error;
        this.#coordinator = undefined;
        await pause(pauseMs);
        if (round !== this.#round) throw error;
      }
    }
  }

  async #ask<T>(name: string, args: unknown[]): Promise<T> {
    this.#coordinator ??= await this.client.coordinator(0, this.groupId);
    return this.client.ask<T>(this.#coordinator, name, args, this.#pool);
  }
}
