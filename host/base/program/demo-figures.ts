/** What `haumea demo --cluster --json` prints, for who runs it as a program. */
export interface ClusterFigures {
  readonly nodes: number;
  readonly rules: number;
  readonly sent: number;
  readonly rows: number;
  readonly lost: number;
  readonly repeated: number;
  readonly moved: number;
  /** From the kill until the last of its rules runs elsewhere, ms; absent with one node. */
  readonly failOverMs?: number;
  readonly definitionsPerSecond: number;
}
