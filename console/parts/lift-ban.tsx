import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { Ban } from '../contract.ts';
import { named } from '../text.ts';
import { ChangeButton } from './button.tsx';
import { notify } from './notices.tsx';

export function LiftBan({ ban: { keyId, keyName }, onLifted }: { ban: Ban; onLifted: () => void }) {
  const [isBusy, setIsBusy] = useState(false);
  const lift = async () => {
    setIsBusy(true);
    try {
      await call('DELETE /bans/{keyId}', { params: { keyId } });
      notify(`Key ${named(keyName)} works again. What it did is forgotten.`);
      onLifted();
    } catch (error) {
      notify((error as Error).message, 'bad');
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <ChangeButton label={`Lift ban on key ${named(keyName)}`} isBusy={isBusy} onClick={lift}>
      Lift ban
    </ChangeButton>
  );
}
