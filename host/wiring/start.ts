/** Inputs from which the parts of the server are made. */
import type { Config, LoadedConfig } from '../base/config/config.js';
import type { Log, Logger } from '../base/log/log.js';
import type { LogTree } from '../base/log/log-tree.js';
import type { HttpLimits } from '../base/net/http-server.js';
import type { ClusterNode } from '../cluster/node.js';
import type { Store } from '../meta/store.js';
import type { Catalog, Engine } from '../model/engine.js';

/** Inputs from which the engine is made. */
export interface EngineContext {
  readonly catalog: Catalog;
  readonly config: Config;
  readonly folders: LoadedConfig['folders'];
  readonly log: Logger;
  /** Makes the logs of rules. */
  readonly logs: LogTree;
  /** Time up to which rules may work; undefined on a server alone. */
  readonly fence: SharedArrayBuffer | undefined;
  /** Keeps the state of rules for other nodes; undefined on a server alone. */
  readonly states: ClusterNode['states'] | undefined;
}

export interface ServerOptions extends LoadedConfig {
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly createEngine: (context: EngineContext) => Engine;
  /** Tells the operator what goes on before there is a log. */
  readonly note?: (line: string) => void;
  /** Resolves when the server is to end. */
  readonly stopped?: Promise<unknown>;
  /** Called when a client asks for the end of the server. */
  readonly onStopRequest: () => void;
  /** Other limits on REST connections than the usual ones. */
  readonly limits?: Partial<HttpLimits>;
}

/** Options, and what is open before any part: every part may use them. */
export interface Start extends ServerOptions {
  readonly log: Log;
  readonly store: Store;
  /** This server as a node of a cluster; undefined for one alone. */
  readonly cluster: ClusterNode | undefined;
}
