/** What the editor for statements asks of a page. */

export interface Completion {
  readonly label: string;
  readonly type: 'class' | 'property' | 'function';
  readonly detail?: string;
  readonly info?: string;
}

/** A fault of the text, from one character to another. */
export interface Fault {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

export interface SqlEditorProps {
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Finds the faults of a text, a while after it was changed. */
  readonly check?: (text: string) => Promise<readonly Fault[]>;
  readonly completions?: () => Promise<readonly Completion[]>;
  /** Ctrl-Enter. */
  readonly onRun?: () => void;
}
