import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { Ban } from '../contract.ts';
import { keyLabel, toKey } from '../key-label.ts';
import { ChangeButton } from './button.tsx';
import { notify } from './notices.tsx';

export function LiftBan({ ban, onLifted }: { ban: Ban; onLifted: () => void }) {
  const text = keyLabel(toKey(ban));
  const [isBusy, setIsBusy] = useState(false);
  const lift = async () => {
    setIsBusy(true);
    try {
      await call('DELETE /bans/{keyId}', { params: { keyId: ban.keyId } });
      notify(`Lifted the ban on ${text}. Earlier bans no longer count.`);
      onLifted();
    } catch (error) {
      notify((error as Error).message, 'bad');
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <ChangeButton label={`Lift ban on ${text}`} isBusy={isBusy} onClick={lift}>
      Lift ban
    </ChangeButton>
  );
}
