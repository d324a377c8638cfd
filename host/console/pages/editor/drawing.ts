/** The drawing under way: that of a stored rule, or what was typed before and not saved. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useShown } from '../../parts/once.js';
import { useKeptState } from '../../state/kept.js';
import { reasonOf } from '../../state/server.js';
import { type Drawing, nothing } from './model.js';

export interface DrawingState {
  readonly drawing: Drawing;
  /** The drawing of now, also for a pointer that moves between two looks of the page. */
  readonly latest: { readonly current: Drawing };
  readonly change: (next: Drawing) => void;
  /** It is one of before that was not saved. */
  readonly isTyped: boolean;
  /** Goes back to what is stored. */
  readonly discard: () => void;
  /** To be called when it is saved. */
  readonly saved: () => void;
  /** Why the rule has no drawing; else empty. */
  readonly missing: string;
}

/** `known` is the rule that is drawn on, `stored` finds its drawing. */
export function useDrawing(known: string | undefined, stored: (id: string) => Promise<Drawing>): DrawingState {
  const [drawing, setDrawing, forget] = useKeptState<Drawing>(`editor.${known ?? ''}`, nothing);
  const latest = useRef(drawing);
  latest.current = drawing;
  const [isTyped, setTyped] = useState(drawing !== nothing);
  const [missing, setMissing] = useState('');
  const isShown = useShown();
  const change = (next: Drawing) => {
    latest.current = next;
    setDrawing(next);
  };
  const load = () => {
    const loaded = (found: Drawing) => {
      if (!isShown()) return;
      change(found);
      forget();
    };
    if (known !== undefined) stored(known).then(loaded, (error: unknown) => setMissing(reasonOf(error)));
  };
  useEffect(() => {
    if (!isTyped) load();
  }, []);
  const saved = () => {
    setTyped(false);
    forget();
  };
  const discard = () => {
    change(nothing);
    saved();
    load();
  };
  return { drawing, latest, change, isTyped, discard, saved, missing };
}
