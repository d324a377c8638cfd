/**
 * Keeps the leaders of two buckets on different servers of NATS, so that one of them is there when a server goes: an
 * election takes longer than the lease of a node.
 */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Logger } from '../base/log/log.js';
import type { Bucket } from './bucket.js';

const lookMs = 2000;
const timeoutMs = 2000;

export class Leaders {
  #timer: NodeJS.Timeout | undefined;
  #manager: JetStreamManager | undefined;

  constructor(
    private readonly connection: NatsConnection,
    private readonly buckets: readonly Bucket[],
    /** Whether this node looks after them. */
    private readonly isOurs: () => boolean,
    private readonly log: Logger,
  ) {}

  start(): void {
    const [first, second] = this.buckets;
    if (first === undefined || second === undefined) return;
    this.#timer = setInterval(() => {
      // Servers that are away are back some time later.
      if (this.isOurs()) this.#part(first, second).catch(() => {});
    }, lookMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #part(first: Bucket, second: Bucket): Promise<void> {
    this.#manager ??= await jetstreamManager(this.connection, { checkAPI: false, timeout: timeoutMs });
    const { streams } = this.#manager;
    const [one, two] = await Promise.all([streams.info(first.stream), streams.info(second.stream)]);
    const leader = two.cluster?.leader;
    if (leader === undefined || leader === '' || one.cluster?.leader !== leader) return;
    const other = two.cluster?.replicas?.find(({ current, offline }) => current && offline !== true);
    if (other === undefined) return;
    this.log.debug(`server ${other.name} of NATS is to lead ${second.name}`);
    const body = JSON.stringify({ placement: { preferred: other.name } });
    await this.connection.request(`$JS.API.STREAM.LEADER.STEPDOWN.${second.stream}`, body, { timeout: timeoutMs });
  }
}
