// SPDX-License-Identifier: Apache-2.0

// argo-ui as Argo CD 3.5 imports it: what argo-ui 1.0.0 has, the forms of react-form under argo-ui's names, and what
// 1.0.0 lacks.
import * as models from './models';
import * as ReactForm from './components/form/compat';

export {models, ReactForm};
export * from './context';
export * from './app-context';
export {Form, Text, TextArea, NestedForm, FormField as FormFieldHOC} from './components/form/compat';
export {Utils} from './components/utils';
export {Page, PageContext} from './components/page/page';
export {MockupList} from './components/mockup-list/mockup-list';
export {DropDown} from './components/dropdown/dropdown';
export {DropDownMenu} from './components/dropdown-menu';
export {Checkbox} from './components/checkbox';
export {Tabs} from './components/tabs/tabs';
export {Duration} from './components/duration-seconds';
export {SlidingPanel} from './components/sliding-panel/sliding-panel';
export * from './components/notifications/notifications';
export * from './components/notifications/notification-manager';
export * from './components/popup/popup';
export * from './components/popup/popup-manager';
export {Select} from './components/select/select';
export {HelpIcon} from './components/help-icon/help-icon';
export {Tooltip} from './components/tooltip/tooltip';
export * from './components/ticker';
export * from './components/data-loader';
export * from './components/error-notification';
export * from './components/navigation';
export * from './components/form-field';
export * from './components/slide-contents/slide-contents';
export * from './components/autocomplete/autocomplete';
export * from './components/autocomplete/autocomplete-field';

require('./styles/main.scss');
require('./styles/overlay.scss');
