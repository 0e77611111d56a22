// SPDX-License-Identifier: Apache-2.0

// The parts of argo-ui/v2 that Argo CD 3.5 uses; argo-ui 1.0.0 has no v2.
import * as moment from 'moment';
import * as React from 'react';
import {Tooltip as BaseTooltip} from '../src/components/tooltip/tooltip';

export const ago = (date: Date) => moment(date).fromNow();

export const Tooltip = (props: {content: React.ReactNode; inverted?: boolean; children?: React.ReactNode}) => (
    <BaseTooltip content={props.content} enabled={!!props.content}>
        <span>{props.children}</span>
    </BaseTooltip>
);

export const ActionButton = (props: {action?: (e: React.MouseEvent) => any; icon?: string; label?: string; tooltip?: string; disabled?: boolean}) => {
    const button = (
        <span className={'v2-action-button' + (props.disabled ? ' v2-action-button--disabled' : '')} onClick={e => props.action && props.action(e)}>
            {props.icon && <i className={props.icon.includes(' ') ? props.icon : `fa ${props.icon}`} />} {props.label}
        </span>
    );
    return props.tooltip ? <BaseTooltip content={props.tooltip}>{button}</BaseTooltip> : button;
};

// A change of value from outside (a click on the row around it) is told like a click.
export const Checkbox = (props: {value?: boolean; onChange?: (value: boolean) => any; disabled?: boolean; style?: React.CSSProperties; id?: string}) => {
    const told = React.useRef(!!props.value);
    const tell = (value: boolean) => {
        if (told.current !== value) {
            told.current = value;
            if (props.onChange) {
                props.onChange(value);
            }
        }
    };
    React.useEffect(() => tell(!!props.value), [props.value]);
    return (
        <span
            id={props.id}
            role='checkbox'
            aria-checked={!!props.value}
            className={'v2-checkbox' + (props.value ? ' v2-checkbox--checked' : '')}
            style={props.style}
            onClick={e => {
                e.stopPropagation();
                if (!props.disabled) {
                    tell(!props.value);
                }
            }}>
            {props.value && <i className='fa fa-check' />}
        </span>
    );
};

export const Autocomplete = (props: {
    items: string[];
    value?: string;
    placeholder?: string;
    abbreviations?: Map<string, string>;
    onChange?: (e: React.ChangeEvent<HTMLInputElement>) => any;
    onItemClick?: (value?: string) => any;
    style?: React.CSSProperties;
    inputStyle?: React.CSSProperties;
}) => {
    const [open, setOpen] = React.useState(false);
    const [at, setAt] = React.useState(-1);
    const text = (props.value || '').toLowerCase();
    const short = (item: string) => ((props.abbreviations && props.abbreviations.get(item)) || '').toLowerCase();
    const items = (props.items || []).filter(item => !text || item.toLowerCase().includes(text) || short(item) === text);
    const pick = (item?: string) => {
        setAt(-1);
        if (props.onItemClick) {
            props.onItemClick(item);
        }
    };
    return (
        <div className='v2-autocomplete' style={props.style}>
            <input
                className='argo-field'
                style={props.inputStyle}
                placeholder={props.placeholder}
                value={props.value || ''}
                onChange={e => {
                    setAt(-1);
                    setOpen(true);
                    props.onChange(e);
                }}
                onFocus={() => setOpen(true)}
                onBlur={() => setOpen(false)}
                onKeyDown={e => {
                    if (e.key === 'ArrowDown') {
                        setAt(Math.min(at + 1, items.length - 1));
                    } else if (e.key === 'ArrowUp') {
                        setAt(Math.max(at - 1, -1));
                    } else if (e.key === 'Enter' && (at >= 0 || text)) {
                        pick(items[at]);
                    } else if (e.key === 'Escape') {
                        setOpen(false);
                    }
                }}
            />
            {open && items.length > 0 && (
                <div className='v2-autocomplete__items'>
                    {items.map((item, i) => (
                        <div
                            key={item}
                            className={'v2-autocomplete__item' + (i === at ? ' v2-autocomplete__item--active' : '')}
                            onMouseDown={e => {
                                e.preventDefault();
                                pick(item);
                            }}>
                            {item}
                        </div>
                    ))}
                </div>
            )}
        </div>
    );
};

export function useData<T>(getData: () => Promise<T>, init?: T, callback?: (data: T) => any, dependencies: any[] = []): [T, boolean, boolean, () => void] {
    const [state, setState] = React.useState({data: init, loading: true, error: false});
    const [turn, setTurn] = React.useState(0);
    React.useEffect(() => {
        let gone = false;
        setState(s => ({...s, loading: true, error: false}));
        getData().then(
            data => {
                if (!gone) {
                    setState({data, loading: false, error: false});
                    if (callback) {
                        callback(data);
                    }
                }
            },
            () => gone || setState(s => ({...s, loading: false, error: true}))
        );
        return () => {
            gone = true;
        };
    }, [turn, ...dependencies]);
    return [state.data, state.loading, state.error, () => setTurn(turn + 1)];
}

// The chosen place in a list of upper items; -1 is none.
export function useNav(upper: number, init = -1): [number, (n: number) => boolean, () => void] {
    const [at, setAt] = React.useState(init);
    const nav = (n: number) => {
        const next = at + n;
        if (next < 0 || next >= upper) {
            return false;
        }
        setAt(next);
        return true;
    };
    return [at, nav, () => setAt(-1)];
}

export enum Key {
    ENTER = 'Enter',
    ESCAPE = 'Escape',
    UP = 'ArrowUp',
    DOWN = 'ArrowDown',
    LEFT = 'ArrowLeft',
    RIGHT = 'ArrowRight',
    SLASH = 'Slash'
}

export enum NumKey {
    ZERO = 'Digit0',
    ONE = 'Digit1',
    TWO = 'Digit2',
    THREE = 'Digit3',
    FOUR = 'Digit4',
    FIVE = 'Digit5',
    SIX = 'Digit6',
    SEVEN = 'Digit7',
    EIGHT = 'Digit8',
    NINE = 'Digit9'
}

export enum NumPadKey {
    ZERO = 'Numpad0',
    ONE = 'Numpad1',
    TWO = 'Numpad2',
    THREE = 'Numpad3',
    FOUR = 'Numpad4',
    FIVE = 'Numpad5',
    SIX = 'Numpad6',
    SEVEN = 'Numpad7',
    EIGHT = 'Numpad8',
    NINE = 'Numpad9'
}

type AnyKey = Key | NumKey | NumPadKey;

export const NumKeyToNumber = (key: AnyKey) => Number(key.slice(-1));

// A key pressed while someone types belongs to the field, but for Escape.
const useKeybinding = (binding: {keys: AnyKey | AnyKey[]; action: (key?: any) => boolean}) => {
    const latest = React.useRef(binding);
    latest.current = binding;
    React.useEffect(() => {
        const onKey = (e: KeyboardEvent) => {
            const typing = /^(INPUT|TEXTAREA|SELECT)$/.test((e.target as HTMLElement).tagName);
            const key = e.code === 'NumpadEnter' ? Key.ENTER : (e.code as AnyKey);
            const plain = !e.ctrlKey && !e.metaKey && !e.altKey && !e.shiftKey;
            if (plain && (!typing || key === Key.ESCAPE) && ([] as AnyKey[]).concat(latest.current.keys).includes(key) && latest.current.action(key)) {
                e.preventDefault();
            }
        };
        window.addEventListener('keydown', onKey);
        return () => window.removeEventListener('keydown', onKey);
    }, []);
};

export const KeybindingContext = React.createContext({useKeybinding});
export const KeybindingProvider = (props: {children?: React.ReactNode}) => <KeybindingContext.Provider value={{useKeybinding}}>{props.children}</KeybindingContext.Provider>;
