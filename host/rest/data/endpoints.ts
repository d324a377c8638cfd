/** Endpoints of the data server; what serves them is loaded when the first source or sink asks for one. */
import { BroadcastChannel } from 'node:worker_threads';
import type { ToEndpoint } from '../../connectors/endpoints.js';
import { endpointChannel } from '../../connectors/push-channel.js';
import type { DataServer } from './data-server.js';
import type { EndpointGateway } from './endpoint-gateway.js';

export class Endpoints {
  readonly #channel = new BroadcastChannel(endpointChannel);
  #gateway: Promise<EndpointGateway> | undefined;

  constructor(
    private readonly server: DataServer,
    /** Clients may send without a token. */
    private readonly isOpen: boolean,
  ) {
    this.#channel.unref();
    this.#channel.onmessage = (event: unknown) => {
      this.#gateway ??= this.#load();
      void this.#gateway.then((gateway) => gateway.take((event as { data: ToEndpoint }).data));
    };
  }

  async close(): Promise<void> {
    this.#channel.close();
    (await this.#gateway)?.close();
  }

  async #load(): Promise<EndpointGateway> {
    const { EndpointGateway } = await import('./endpoint-gateway.js');
    return new EndpointGateway(this.server, this.isOpen, this.#channel);
  }
}
