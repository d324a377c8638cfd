const maxFindings = 5;

/** Faults that a check has found; only the first few are kept. */
export class Findings {
  readonly list: string[] = [];

  add(text: string): void {
    if (this.list.length < maxFindings) this.list.push(text);
  }
}
