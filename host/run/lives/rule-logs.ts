/** Logs of rules: lines about a rule go to its own log if it has one, otherwise to that of the server. */
import type { Logger } from '../../base/log/log.js';
import type { LogTree } from '../../base/log/log-tree.js';
import type { LogNotice } from '../link/protocol.js';
import type { Entry } from './rule-entry.js';

export class RuleLogs {
  /** @param logs where rules get logs of their own; without it all lines go to `log` */
  constructor(
    readonly log: Logger,
    readonly logs: LogTree | undefined,
  ) {}

  /** Lines of level debug are wanted of all rules now. */
  get isDebug(): boolean {
    return this.logs?.isDebug === true;
  }

  /** Opens the log of a rule that wants its own. */
  open(entry: Entry): void {
    const { debug, logFilename } = entry.definition.options;
    this.close(entry);
    const isOwn = debug || logFilename !== '';
    entry.log = isOwn ? this.logs?.branch({ isDebug: debug, fileName: logFilename }) : undefined;
  }

  close(entry: Entry): void {
    entry.log?.close();
    entry.log = undefined;
  }

  /** Writes a line of the data plane. */
  take(entry: Entry | undefined, { level, message, details }: LogNotice): void {
    const rule = entry === undefined ? {} : { rule: entry.definition.id };
    (entry?.log ?? this.log)[level](message, { ...details, ...rule });
  }

  /** A failure shows in the main log, and in that of the rule if it has one. */
  failure({ definition, log }: Entry, message: string): void {
    this.log.error(`rule ${definition.id} ${message}`);
    if (definition.options.logFilename !== '') log?.error(message, { rule: definition.id });
  }
}
