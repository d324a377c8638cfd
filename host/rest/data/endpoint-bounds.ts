/** Bounds of the clients of one endpoint. Who is refused is counted by the rules of the endpoint, and logged. */
import type { Logger } from '../../base/log/log.js';

export interface EndpointLimits {
  readonly maxEndpointClients: number;
  readonly maxEndpointBytes: number;
}

/** The log has one line in this time, ms, however many clients come. */
const loggedEveryMs = 10_000;

export class EndpointBounds {
  #loggedAt = Number.NEGATIVE_INFINITY;
  #unlogged = 0;

  constructor(
    private readonly path: string,
    private readonly limits: EndpointLimits,
    private readonly log: Logger,
    /** Has a refusal counted by the sources and sinks. */
    private readonly count: (reason: string) => void,
  ) {}

  get maxBytes(): number {
    return this.limits.maxEndpointBytes;
  }

  /** Why one client more is too many; undefined when it is not. */
  refusal(clients: number): string | undefined {
    const { maxEndpointClients: max } = this.limits;
    if (clients < max) return undefined;
    const reason = `${this.path} has ${max} clients already (source.maxEndpointClients)`;
    this.tell(`a client was refused: ${reason}`);
    return `${reason}\n`;
  }

  tell(reason: string): void {
    this.count(reason);
    this.#unlogged++;
    if (performance.now() - this.#loggedAt < loggedEveryMs) return;
    const others = this.#unlogged > 1 ? `; ${this.#unlogged - 1} more since the last line` : '';
    this.log.warn(`endpoint ${this.path}: ${reason}${others}`);
    this.#loggedAt = performance.now();
    this.#unlogged = 0;
  }
}
