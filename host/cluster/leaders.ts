/**
 * Keeps the leaders of two buckets on different servers of NATS, so that one of them is there when a server goes: an
 * election takes longer than the lease of a node.
 */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import type { Logger } from '../base/log/log.js';
import type { Bucket } from './bucket.js';

type Led = Pick<Bucket, 'name' | 'stream'>;

const everyMs = 2000;
const timeoutMs = 2000;

export class Leaders {
  #timer: NodeJS.Timeout | undefined;
  #manager: JetStreamManager | undefined;
  readonly #elections: Subscription[] = [];
  #isLooking = false;
  /** There was an election since the look that is under way began. */
  #isAgain = false;
  /** The last refusal, which is told once. */
  #refusal = '';

  constructor(
    private readonly connection: NatsConnection,
    private readonly buckets: readonly Led[],
    /** Whether this node looks after them. */
    private readonly isOurs: () => boolean,
    private readonly log: Logger,
    /** Time between two looks when nothing happens, ms. */
    private readonly lookMs = everyMs,
  ) {}

  start(): void {
    const [first, second] = this.buckets;
    if (first === undefined || second === undefined) return;
    const look = () => void this.#look(first, second);
    this.#timer = setInterval(look, this.lookMs);
    // An election may well give both to one server. A login that may not hear of elections has the looks in between.
    for (const { stream } of [first, second]) {
      const subject = `$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.${stream}`;
      const callback = (error: Error | null) => {
        if (error === null) look();
      };
      this.#elections.push(this.connection.subscribe(subject, { callback }));
    }
    look();
  }

  close(): void {
    clearInterval(this.#timer);
    if (this.connection.isClosed()) return;
    for (const election of this.#elections) election.unsubscribe();
  }

  async #look(first: Led, second: Led): Promise<void> {
    this.#isAgain = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    while (this.#isAgain) {
      this.#isAgain = false;
      // Servers that are away are back some time later.
      if (this.isOurs()) await this.#part(first, second).catch(() => {});
    }
    this.#isLooking = false;
  }

  async #part(first: Led, second: Led): Promise<void> {
    this.#manager ??= await jetstreamManager(this.connection, { checkAPI: false, timeout: timeoutMs });
    const { streams } = this.#manager;
    const [one, two] = await Promise.all([streams.info(first.stream), streams.info(second.stream)]);
    const leader = two.cluster?.leader;
    if (leader === undefined || leader === '' || one.cluster?.leader !== leader) return;
    const other = two.cluster?.replicas?.find(({ current, offline }) => current && offline !== true);
    if (other === undefined) return;
    this.log.debug(`server ${other.name} of NATS is to lead ${second.name}`);
    const body = JSON.stringify({ placement: { preferred: other.name } });
    const subject = `$JS.API.STREAM.LEADER.STEPDOWN.${second.stream}`;
    const answer = await this.connection.request(subject, body, { timeout: timeoutMs });
    const refusal = answer.json<{ error?: { description?: string } }>().error?.description ?? '';
    if (refusal !== '' && refusal !== this.#refusal)
      this.log.warn(`server ${leader} of NATS leads ${first.name} and ${second.name}, and goes on: ${refusal}`);
    this.#refusal = refusal;
  }
}
