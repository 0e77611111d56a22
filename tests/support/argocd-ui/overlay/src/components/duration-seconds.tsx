// SPDX-License-Identifier: Apache-2.0

import * as React from 'react';
import {Duration as Base} from './duration';

// 1.0.0 calls the property durationMs, but takes seconds.
export const Duration = (props: {durationS: number; allowNewLines?: boolean}) => <Base durationMs={props.durationS} allowNewLines={props.allowNewLines} />;
