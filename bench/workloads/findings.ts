const maxFindings = 5;

/** What a check has found: the first few say enough. */
export class Findings {
  readonly list: string[] = [];

  add(text: string): void {
    if (this.list.length < maxFindings) this.list.push(text);
  }
}
