/**
 * CodeMirror for statements. It stands in a shadow root: its styles are sheets there, which the policy for content of
 * the page allows, and not elements of style.
 */
import { autocompletion, closeBrackets, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { StandardSQL, sql } from '@codemirror/lang-sql';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { linter, lintKeymap } from '@codemirror/lint';
import { Annotation, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../state/language.js';
import type { Completion, SqlEditorProps } from './editing.js';

const checkDelayMs = 350;
/** On changes that the page makes: the page knows them, and a user has typed nothing. */
const ofPage = Annotation.define<true>();

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: tags.comment, color: 'var(--faint)' },
]);

const look = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--card)', fontSize: '0.95rem' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)', minHeight: '7.5rem' },
  // Browsers write the colour of a replaced word on the line itself, where it would outlive a change of the theme.
  '.cm-line': { color: 'var(--text) !important' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--faint)', backgroundColor: 'var(--raised)', border: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', maxHeight: '50vh' },
  '.cm-tooltip': { color: 'var(--text)', backgroundColor: 'var(--card)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    color: 'var(--on-accent)',
    backgroundColor: 'var(--accent-back)',
  },
  '.cm-completionInfo': { maxWidth: '24rem' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { background: 'var(--raised) !important' },
});

export function SqlView(props: SqlEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  // The editor lives on while what it calls changes.
  const [fault, setFault] = useState('');
  const check = async (text: string) => {
    const faults = (await props.check?.(text)) ?? [];
    // Below the text as well: what is underlined tells its reason to pointers alone.
    if (view.current?.state.doc.toString() === text) setFault(faults[0]?.message ?? '');
    return faults;
  };
  const latest = useRef(props);
  latest.current = { ...props, check };
  // Not after the next frame: a key that is pressed before it would be set back to the text of the key before.
  useLayoutEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' });
    const made = new EditorView({
      state: EditorState.create({ doc: latest.current.text, extensions: extensionsOf(latest) }),
      root,
    });
    root.append(made.dom);
    view.current = made;
    return () => made.destroy();
  }, []);
  useLayoutEffect(() => {
    const { current } = view;
    if (current === undefined || current.state.doc.toString() === props.text) return;
    const changes = { from: 0, to: current.state.doc.length, insert: props.text };
    current.dispatch({ changes, annotations: ofPage.of(true) });
  }, [props.text]);
  return (
    <>
      <div class="editor" ref={host} />
      {props.check !== undefined && (
        <p class="bad" role="status" aria-label={t('fault')}>
          {fault}
        </p>
      )}
    </>
  );
}

function extensionsOf(latest: { readonly current: SqlEditorProps }) {
  const run = () => {
    latest.current.onRun?.();
    return true;
  };
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    sql({ dialect: StandardSQL, upperCaseKeywords: true }),
    syntaxHighlighting(colours),
    autocompletion(),
    EditorState.languageData.of(() => [{ autocomplete: completing(latest) }]),
    linter(
      async ({ state }) => {
        const length = state.doc.length;
        const faults = (await latest.current.check?.(state.doc.toString())) ?? [];
        return faults.map(({ from, to, message }) => ({
          from: Math.min(from, length),
          to: Math.min(to, length),
          message,
          severity: 'error' as const,
        }));
      },
      { delay: checkDelayMs },
    ),
    keymap.of([{ key: 'Mod-Enter', run }, ...completionKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
    EditorView.contentAttributes.of({ 'aria-label': latest.current.label }),
    EditorView.updateListener.of((update) => {
      const isTyped = update.transactions.some((one) => one.docChanged && one.annotation(ofPage) === undefined);
      if (isTyped) latest.current.onText(update.state.doc.toString());
    }),
    EditorView.lineWrapping,
    look,
  ];
}

function completing(latest: { readonly current: SqlEditorProps }) {
  let known: readonly Completion[] | undefined;
  return async (context: import('@codemirror/autocomplete').CompletionContext) => {
    const word = context.matchBefore(/\w+/);
    if (word === null && !context.explicit) return null;
    known ??= (await latest.current.completions?.()) ?? [];
    return { from: word?.from ?? context.pos, options: [...known], validFor: /^\w*$/ };
  };
}
