/** A source, as those see it that give its bytes to the kernel. */
import type { SourceForm } from '../../../connectors/define.js';
import type { RunningSource } from '../running/running.js';
import type { InputBranches } from './input-branches.js';
import type { SourceHost } from './source-host.js';

export interface FedSource extends RunningSource {
  readonly form: SourceForm;
  readonly host: SourceHost;
  readonly branches: InputBranches;
  readonly isClosed: boolean;
}
