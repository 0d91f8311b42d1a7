/** Edits an object that another operator may be changing at the same time. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Failure, type WithEtag } from '../api.ts';
import { toFailure } from '../use-loaded.ts';
import { Difference } from './difference.tsx';
import { Icon } from './icon.tsx';
import { notify } from './notices.tsx';

/** Saves a change by calling `send` with the current ETag. */
export type Save = (send: (ifMatch: string) => Promise<unknown>) => Promise<void>;

interface ConditionalEditProps<T> {
  /** Reads the current state. Called when the dialog opens and after a conflict. */
  readonly load: () => Promise<WithEtag<T>>;
  readonly onClose: () => void;
  /** Renders the dialog, with `conflict` inside its form. */
  readonly children: (opened: T, save: Save, conflict: ComponentChildren) => ComponentChildren;
}

const advice = 'Your input was kept. Save again to apply it to the current version.';

export function ConditionalEdit<T>({ load, onClose, children }: ConditionalEditProps<T>) {
  const [opened, setOpened] = useState<WithEtag<T>>();
  const [present, setPresent] = useState<T>();
  const tag = useRef('');
  useEffect(() => {
    const show = (read: WithEtag<T>) => {
      tag.current = read.tag;
      setOpened(read);
    };
    load().then(show, (error: unknown) => {
      notify(toFailure(error).message, 'bad');
      onClose();
    });
  }, []);
  const save: Save = async (send) => {
    try {
      await send(tag.current);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'precondition_failed') throw error;
      const read = await load();
      tag.current = read.tag;
      setPresent(read.data);
      // The form does not show this error, because `conflict` already shows the same advice.
      throw new Failure('changed_meanwhile', advice);
    }
  };
  if (opened === undefined) return null;
  return <>{children(opened.data, save, present && <Conflict before={opened.data} after={present} />)}</>;
}

function Conflict({ before, after }: { before: unknown; after: unknown }) {
  return (
    <div class="message warn" role="alert">
      <Icon name="warning" />
      <div>
        <strong>Someone else changed this while you were editing.</strong>
        <Difference before={before} after={after} />
        <p>{advice}</p>
      </div>
    </div>
  );
}
