/** Endpoints of the data server; what serves them is loaded when the first source or sink asks for one. */
import { BroadcastChannel } from 'node:worker_threads';
import type { ToEndpoint } from '../../connectors/endpoints.js';
import { endpointChannel } from '../../connectors/push-channel.js';
import type { DataServer } from './data-server.js';
import type { EndpointGateway, EndpointOptions } from './endpoint-gateway.js';

export class Endpoints {
  readonly #channel = new BroadcastChannel(endpointChannel);
  #gateway: Promise<EndpointGateway> | undefined;

  constructor(
    private readonly server: DataServer,
    private readonly options: EndpointOptions,
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
    return new EndpointGateway(this.server, this.options, this.#channel);
  }
}
